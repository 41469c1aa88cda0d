# SPDX-License-Identifier: Apache-2.0

"""The RequestSpec that keeps what a burial would lose."""

import ddt
from nova import objects
from nova.objects import base
from nova.objects import fields as nova_fields
from oslo_serialization import jsonutils
from oslo_utils.fixture import uuidsentinel

from cell0_rebuild import objects as ours
from cell0_rebuild import retained
from tests import releases
from tests.unit import request_specs_base
from tests.unit import specs
from tests.unit.specs import NETWORKS
from tests.unit.specs import plain


@ddt.ddt
class KeepTest(request_specs_base.TestCase):

    @ddt.data(*NETWORKS)
    def test_what_is_kept_is_read_back_and_no_change(self, networks):
        uuid = self.create()
        before = self.load(uuid).obj_what_changed()
        self.keep(uuid, NETWORKS[networks]())
        spec, kept = self.load(uuid), NETWORKS[networks]()
        found = spec.retained.requested_networks
        self.assertEqual(plain(kept), plain(found))
        self.assertIs(type(kept), type(found))
        # The field has them, too.
        self.assertEqual(kept is not None, 'requested_networks' in spec)
        if kept is not None:
            self.assertEqual(plain(kept), plain(spec.requested_networks))
        self.assertEqual(before, spec.obj_what_changed())

    def test_nothing_is_known_of_a_server_that_was_not_buried(self):
        self.assertIsNone(self.load(self.create()).retained)

    def test_nothing_in_particular_is_told_apart_from_unknown(self):
        uuid = self.create()
        self.keep(uuid, None)
        self.assertEqual(retained.Retained(requested_networks=None),
                         self.load(uuid).retained)

    def test_our_name_in_the_blob_is_not_taken_for_what_is_kept(self):
        uuid = self.create(scheduler_hints={ours.SECTION: ['a hint']})
        self.assertIsNone(self.load(uuid).retained)

    @ddt.data(*NETWORKS)
    def test_the_rest_of_the_blob_is_unchanged(self, networks):
        uuid = self.create()
        before = self.blob(uuid)
        self.keep(uuid, NETWORKS[networks]())
        after = jsonutils.loads(self.blob(uuid))
        del after[ours.SECTION]
        self.assertEqual(jsonutils.loads(before), after)

    def test_the_files_are_read_back(self):
        uuid = self.create()
        files = [['/etc/motd', 'aGVsbG8='], ['/etc/ä', '']]
        self.keep(uuid, None, injected_files=files)
        self.assertEqual(files, self.load(uuid).retained.injected_files)

    def test_the_destination_is_read_back(self):
        uuid = self.create()
        self.keep(uuid, None, requested_destination=objects.Destination(
            host='a host', node='a node'))
        spec = self.load(uuid)
        self.assertNotIn('requested_destination', spec)
        found = spec.retained.requested_destination
        self.assertIsInstance(found, objects.Destination)
        self.assertEqual(('a host', 'a node'), (found.host, found.node))
        self.assertEqual(set(), found.obj_what_changed())

    def test_what_was_kept_before_is_replaced(self):
        uuid = self.create()
        self.keep(uuid, specs.some_networks())
        self.keep(uuid, None)
        self.assertIsNone(self.load(uuid).retained.requested_networks)

    def test_several_servers_are_kept_at_once(self):
        first, second, other = (self.create() for _ in range(3))
        ours.keep(self.context, {
            first: retained.Retained(specs.some_networks()),
            second: retained.Retained(None)})
        self.assertEqual(2, len(self.load(first).retained.requested_networks))
        self.assertEqual(retained.Retained(None), self.load(second).retained)
        self.assertIsNone(self.load(other).retained)

    def test_a_server_without_spec_is_no_obstacle(self):
        uuid = self.create()
        ours.keep(self.context, {
            'gone': retained.Retained(None), uuid: retained.Retained(None)})
        self.assertEqual(retained.Retained(None), self.load(uuid).retained)

    @releases.needs('get_by_instance_uuids')
    def test_specs_that_are_loaded_together_know_what_is_kept(self):
        uuids = [self.create(), self.create()]
        self.keep(uuids[0], specs.some_networks())
        found = objects.RequestSpec.get_by_instance_uuids(self.context, uuids)
        self.assertEqual({uuids[0]}, {
            spec.instance_uuid for spec in found if spec.retained})

    def test_what_is_kept_is_not_sent_to_other_services(self):
        uuid = self.create()
        self.keep(uuid, None, injected_files=[['/etc/motd', 'aGVsbG8=']])
        sent = jsonutils.dumps(base.NovaObjectSerializer().serialize_entity(
            self.context, self.load(uuid)))
        self.assertNotIn(ours.SECTION, sent)
        self.assertNotIn('/etc/motd', sent)


@ddt.ddt
class SaveTest(request_specs_base.TestCase):

    @ddt.data(*NETWORKS)
    def test_a_spec_that_knows_what_is_kept_keeps_it(self, networks):
        uuid = self.create()
        self.keep(uuid, NETWORKS[networks]())
        self.assertEqual(
            plain(NETWORKS[networks]()),
            plain(self.change(self.load(uuid)).requested_networks))

    @ddt.data(*NETWORKS)
    def test_a_spec_that_was_loaded_before_keeps_it(self, networks):
        uuid = self.create()
        spec = self.load(uuid)
        self.keep(uuid, NETWORKS[networks]())
        self.assertEqual(plain(NETWORKS[networks]()),
                         plain(self.change(spec).requested_networks))
        self.assertEqual(plain(NETWORKS[networks]()),
                         plain(spec.retained.requested_networks))

    def test_a_spec_that_is_saved_twice_keeps_it(self):
        uuid = self.create()
        self.keep(uuid, specs.some_networks())
        spec = self.load(uuid)
        spec.num_instances = 2
        spec.save()
        self.assertEqual(plain(specs.some_networks()),
                         plain(self.change(spec).requested_networks))

    def test_a_spec_that_remembers_does_not_bring_back_what_is_forgotten(
        self
    ):
        uuid = self.create()
        self.keep(uuid, specs.some_networks())
        spec = self.load(uuid)
        self.map_server(uuid)
        self.forget(uuid)
        self.assertIsNone(self.change(spec))
        self.assertIsNone(spec.retained)

    def test_other_networks_in_the_field_do_not_replace_what_is_kept(self):
        uuid = self.create()
        self.keep(uuid, specs.some_networks())
        spec = self.load(uuid)
        spec.requested_networks = objects.NetworkRequestList(
            objects=[objects.NetworkRequest(tag='another')])
        self.assertEqual(plain(specs.some_networks()),
                         plain(self.change(spec).requested_networks))

    def test_other_networks_in_the_field_stay_there(self):
        uuid = self.create()
        self.keep(uuid, specs.some_networks())
        spec = self.load(uuid)
        spec.requested_networks = other = objects.NetworkRequestList(
            objects=[objects.NetworkRequest(tag='another')])
        self.change(spec)
        self.assertIs(other, spec.requested_networks)

    def _change_image_and_topology(self, uuid):
        """Change what an accepted rebuild with another image changes."""
        spec = self.load(uuid)
        spec.image = objects.ImageMeta.from_dict({
            'id': uuidsentinel.image, 'properties': {'hw_cpu_max_sockets': 2}})
        spec.numa_topology = objects.InstanceNUMATopology(cells=[])
        spec.save()

    def _some_spec(self):
        """Store a spec as a create does: all in it says it is changed."""
        image = objects.ImageMeta.from_dict({
            'id': uuidsentinel.old, 'properties': {'hw_cpu_max_sockets': 1}})
        topology = objects.InstanceNUMATopology(cells=[
            objects.InstanceNUMACell(
                id=0, cpuset={8, 0}, pcpuset=set(), memory=512)])
        uuid = self.create(image=image, numa_topology=topology)
        self.keep(uuid, None)
        return uuid

    def test_a_save_leaves_what_changed_since_in_an_object_of_the_spec(self):
        uuid = self._some_spec()
        spec = self.load(uuid)
        self.assertIn('image', spec.obj_what_changed())
        self._change_image_and_topology(uuid)
        self.change(spec)
        found = self.load(uuid)
        self.assertEqual(uuidsentinel.image, found.image.id)
        self.assertEqual([], found.numa_topology.cells)

    def test_a_save_leaves_what_changed_before_all_was_forgotten(self):
        uuid = self._some_spec()
        spec = self.load(uuid)
        self._change_image_and_topology(uuid)
        self.map_server(uuid)
        self.forget(uuid)
        self.change(spec)
        self.assertEqual(uuidsentinel.image, self.load(uuid).image.id)

    def test_a_save_stores_what_it_changes_in_an_object_of_the_spec(self):
        uuid = self._some_spec()
        spec = self.load(uuid)
        self._change_image_and_topology(uuid)
        spec.image.properties.hw_cpu_max_sockets = 3
        self.change(spec)
        found = self.load(uuid)
        self.assertEqual(3, found.image.properties.hw_cpu_max_sockets)
        self.assertEqual([], found.numa_topology.cells)

    def test_a_migration_of_old_data_keeps_it(self):
        uuid = self.create(numa_topology=objects.InstanceNUMATopology(cells=[
            objects.InstanceNUMACell(
                id=0, cpuset=set(), pcpuset={1}, memory=512,
                cpu_policy=nova_fields.CPUAllocationPolicy.DEDICATED)]))
        old = jsonutils.loads(self.blob(uuid))
        cell, = old['nova_object.data']['numa_topology'][
            'nova_object.data']['cells']
        cell['nova_object.version'] = '1.4'
        cell['nova_object.data']['cpuset'] = [1]
        del cell['nova_object.data']['pcpuset']
        self.write_blob(uuid, jsonutils.dumps(old))
        self.keep(uuid, specs.some_networks())
        self.assertEqual(
            {1}, self.load(uuid).numa_topology.cells[0].pcpuset)
        self.assertEqual(plain(specs.some_networks()),
                         plain(self.load(uuid).retained.requested_networks))

    @ddt.data(*NETWORKS)
    def test_a_save_without_a_change_sends_no_statement(self, networks):
        uuid = self.create(pci_requests=None, numa_topology=None, image=None)
        self.keep(uuid, NETWORKS[networks]())
        spec = self.load(uuid)
        with self.statements() as sent:
            spec.save()
        self.assertEqual([], sent)

    def test_a_save_of_a_server_that_was_not_buried_is_as_nova_writes_it(
        self
    ):
        uuid = self.create()
        before = self.blob(uuid)
        self.change(self.load(uuid))
        found = self.blob(uuid)
        self.write_blob(uuid, before)
        self.change(self.load_stock(uuid))
        self.assertEqual(self.blob(uuid), found)

    def test_a_save_of_a_server_that_was_not_buried_costs_what_it_did(self):
        self.assertEqual(*self.costs_of_a_save())


@ddt.ddt
class ForgetTest(request_specs_base.TestCase):

    def create(self, **fields):
        uuid = super().create(**fields)
        self.map_server(uuid)
        return uuid

    @ddt.data(*NETWORKS)
    def test_nothing_is_known_afterwards(self, networks):
        uuid = self.create()
        self.keep(uuid, NETWORKS[networks]())
        self.forget(uuid)
        self.assertIsNone(self.load(uuid).retained)

    @ddt.data(*NETWORKS)
    def test_the_blob_is_as_it_was_before(self, networks):
        uuid = self.create()
        before = self.blob(uuid)
        self.keep(uuid, NETWORKS[networks]())
        self.forget(uuid)
        self.assertEqual(before, self.blob(uuid))

    @ddt.data('some', 'none')
    def test_the_blob_is_what_nova_would_have_written_meanwhile(
        self, networks
    ):
        uuid = self.create()
        before = self.blob(uuid)
        self.keep(uuid, NETWORKS[networks]())
        self.change(self.load(uuid))
        self.forget(uuid)
        found = self.blob(uuid)
        self.write_blob(uuid, before)
        self.change(self.load_stock(uuid))
        self.assertEqual(self.blob(uuid), found)

    @ddt.data(*NETWORKS)
    def test_nova_reads_what_it_would_have_written_meanwhile(self, networks):
        uuid = self.create()
        before = self.blob(uuid)
        self.keep(uuid, NETWORKS[networks]())
        self.change(self.load(uuid))
        self.forget(uuid)
        found = self.load_stock(uuid).obj_to_primitive()
        self.write_blob(uuid, before)
        self.change(self.load_stock(uuid))
        self.assertEqual(self.load_stock(uuid).obj_to_primitive(), found)

    def test_other_servers_are_left_alone(self):
        uuid, other = self.create(), self.create()
        self.keep(uuid, None)
        self.keep(other, None)
        self.forget(uuid)
        self.assertEqual(retained.Retained(None), self.load(other).retained)

    def test_a_server_of_which_nothing_is_kept_is_not_written(self):
        uuid = self.create()
        # As another release may have formatted it.
        self.write_blob(uuid, f' {self.blob(uuid)}')
        with self.statements() as sent:
            self.forget(uuid)
        self.assertEqual({'SELECT'}, {text.split()[0] for text in sent})

    def test_a_server_without_spec_is_no_obstacle(self):
        self.map_server(uuidsentinel.gone)
        with self.statements() as sent:
            self.forget(uuidsentinel.gone)
        self.assertEqual({'SELECT'}, {text.split()[0] for text in sent})


@ddt.ddt
class StockNovaTest(request_specs_base.TestCase):

    @ddt.data(*NETWORKS)
    def test_it_reads_the_row_as_if_nothing_were_kept(self, networks):
        uuid = self.create()
        before = self.load_stock(uuid).obj_to_primitive()
        self.keep(uuid, NETWORKS[networks]())
        self.assertEqual(before, self.load_stock(uuid).obj_to_primitive())

    @ddt.data(*NETWORKS)
    def test_what_is_kept_is_unknown_after_it_saved(self, networks):
        uuid = self.create()
        self.keep(uuid, NETWORKS[networks]())
        self.change(self.load_stock(uuid))
        self.assertIsNone(self.load(uuid).retained)

    def test_it_can_be_kept_again(self):
        uuid = self.create()
        self.keep(uuid, specs.some_networks())
        self.change(self.load_stock(uuid))
        self.keep(uuid, specs.some_networks())
        self.assertEqual('another', self.load(uuid).availability_zone)
        self.assertEqual(2, len(self.load(uuid).retained.requested_networks))
