# SPDX-License-Identifier: Apache-2.0

"""Servers with each root disk and image, and a Cinder that writes images."""

import copy
import dataclasses

from nova import context as nova_context
from nova import objects
from nova.tests.functional.api import client as api_client
from oslo_utils import uuidutils

from tests.functional import base
from tests.functional.support import cinder
from tests.functional.support import reimage_base
from tests.functional.volumes import images_table

# By image, the bus and so the properties of a server that has it.
BUSES = {'own': 'ide', 'that of its volume': 'scsi', 'another': 'sata'}
# Cinder's copy of the properties, which is older than the image.
OLD = 'virtio'


class ImageCinder(cinder.Cinder):
    """Knows which image is on a volume.

    :ivar image: what Cinder says of an image that a volume is made with.
    :ivar on: the same, by volume.
    :ivar status: of a volume that a server has.
    :ivar written: called with a volume that an image was written to.
    """

    def __init__(self, test):
        super().__init__(test)
        self.image, self.on = {}, {}
        self.status = 'reserved'
        self.written = lambda volume_id: None
        self._busy = set()

    def fake_vol_create(self, context, size, name, description,
                        snapshot=None, image_id=None, *args, **kwargs):
        volume = super().fake_vol_create(
            context, size, name, description, snapshot, image_id, *args,
            **kwargs)
        self.on[volume['id']] = self.image if snapshot or image_id else {}
        return volume

    def fake_get(self, context, volume_id, microversion=None):
        volume = {**super().fake_get(context, volume_id, microversion),
                  'bootable': True,
                  'volume_image_metadata': dict(
                      self.on.get(volume_id, self.image))}
        if self.volume_to_attachment[volume_id]:
            volume['status'] = self.status
        if volume_id in self._busy:
            self._busy.remove(volume_id)
            volume['status'] = 'downloading'
        return volume

    def fake_reimage_volume(
            self, context, volume_id, image_id, reimage_reserved=False):
        self.on[volume_id] = {'image_id': image_id}
        self._busy.add(volume_id)
        self.written(volume_id)


@dataclasses.dataclass(frozen=True)
class Found:
    """What the tables tell of a server.

    :param shown: the image that Nova shows.
    :param properties: its bus and its kernel.
    :param root: the image that the root disk has or will be made from; what
        it was made from, if that is no image.
    """

    shown: str
    properties: tuple[object, str]
    root: str


class ImagesTableTestCase(base.FunctionalTestCase):

    compute_driver = 'fake.FakeDriver'

    def setUp(self):
        super().setUp()
        self.stub_out(reimage_base.PAUSE, 0.1)
        self.flags(instances=-1, cores=-1, ram=-1, group='quota')
        self.cinder = self.useFixture(ImageCinder(self))
        self.snapshot = self.cinder.add_snapshot()
        self.kernels, self.spawned = {}, {}
        self.images = {name: self.new_image(hw_disk_bus=bus)
                       for name, bus in BUSES.items()}
        self.cinder.image = {
            'image_id': self.images['that of its volume'],
            'hw_disk_bus': OLD}

    def new_image(self, **properties):
        """Return the ID of an image with a kernel of its own."""
        image, kernel = (copy.deepcopy(self.glance.image1) for _ in range(2))
        for made in (kernel, image):
            made.update(id=uuidutils.generate_uuid(), properties=properties)
            self.glance.create(None, made)
            properties = {**properties, 'kernel_id': kernel['id']}
        self.kernels[image['id']] = kernel['id']
        return image['id']

    def image_of_a_server(self):
        """Return an image as Nova makes of a volume-backed server."""
        image_id = self.new_image(
            hw_disk_bus=BUSES['own'], bdm_v2=True, block_device_mapping=[{
                'source_type': 'snapshot', 'destination_type': 'volume',
                'snapshot_id': self.snapshot, 'boot_index': 0,
                'device_name': '/dev/vda', 'volume_size': 1}])
        self.glance.images[image_id]['size'] = 0
        return image_id

    def body(self, case):
        """Return what a server of a case is created with."""
        body = {'imageRef': self.images['own'] if case.shows == 'yes' else ''}
        if case.root == images_table.BROUGHT:
            body['imageRef'] = self.image_of_a_server()
        root = {
            'existing': {'source_type': 'volume',
                         'uuid': uuidutils.generate_uuid()},
            'from image': {'source_type': 'image',
                           'uuid': self.images['that of its volume']},
            'from snapshot': {'source_type': 'snapshot',
                              'uuid': self.snapshot},
            'blank volume': {'source_type': 'blank'},
        }.get(case.root)
        if root is not None:
            body['block_device_mapping_v2'] = [{
                'boot_index': 0, 'destination_type': 'volume',
                **({} if case.root == 'existing' else {'volume_size': 1}),
                **root}]
        return body

    def found(self, server):
        """Return what there is of a server."""
        context = nova_context.get_admin_context()
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            context, server['id'])
        with nova_context.target_cell(context, mapping.cell_mapping) as cctxt:
            instance = objects.Instance.get_by_uuid(
                cctxt, server['id'], expected_attrs=['system_metadata'])
            root = objects.BlockDeviceMappingList.get_by_instance_uuid(
                cctxt, server['id']).root_bdm()
        shown = self.api.get_server(server['id'])['image']
        return Found(
            shown['id'] if shown else '',
            (instance.system_metadata.get('image_hw_disk_bus'),
             instance.kernel_id), self._on(instance, root))

    def _on(self, instance, root):
        if root.volume_id:
            return self.cinder.on.get(
                root.volume_id, self.cinder.image).get('image_id', 'blank')
        if root.is_volume:
            return root.image_id or root.snapshot_id or 'blank'
        # That a compute was given it is found where one was.
        return self.spawned.get(instance.uuid, instance.image_ref)

    def named(self, case, before):
        """Return the image that a request names; None for none."""
        return {'none': None, 'its own': before.shown}.get(
            case.names, self.images.get(case.names))

    def check(self, state, microversion, cases):
        """Ask for a rebuild in each case, and see what there is then."""
        number = {'Added microversion': base.ADDED, 'From 2.93': base.STOCK,
                  'Below 2.93': '2.92'}[microversion]
        server = of = None
        for case in cases:
            if (case.shows, case.root) != of:
                server = None
            of = case.shows, case.root
            [row] = images_table.matching(state, case)
            outcome = images_table.outcomes()[row[microversion]]
            with self.subTest(state=state, microversion=microversion,
                              case=case):
                server = server or self.create(case)
                before = self.found(server)
                named = self.named(case, before)
                answer = self._answer(server, number, named)
                self.assertEqual(outcome['Answer'], str(answer))
                if answer == 202:
                    self.wait(server, outcome['Outcome'])
                self.assertEqual(
                    self._expected(outcome, before, named),
                    self.found(server))
                if outcome['Outcome'] not in ('kept', '400', '409'):
                    server = None

    def _answer(self, server, microversion, named):
        """Return the status code of a rebuild."""
        body = {} if named is None else {'imageRef': named}
        try:
            self.rebuild(server, microversion, **body)
        except api_client.OpenStackApiException as error:
            return error.response.status_code
        return 202

    def _expected(self, outcome, before, named):
        """Return what a server becomes, as the page says."""
        image = named or before.shown or self.images['that of its volume']
        changes = {}
        for field, column, text, value in (
                ('shown', 'Image that is shown', 'the image', image),
                ('properties', 'Properties and kernel', 'of the image', (
                    self.glance.images[image]['properties']['hw_disk_bus'],
                    self.kernels[image])),
                ('root', 'Root disk', 'gets the image', image)):
            self.assertIn(outcome[column], ('as before', text))
            if outcome[column] == text:
                changes[field] = value
        return dataclasses.replace(before, **changes)


class BuriedTestCase(ImagesTableTestCase):
    """No host is there: what a server got is looked at in cell0."""

    def create(self, case):
        return self.bury(**self.body(case))

    def wait(self, server, outcome):
        self.buried_again(server)
