# SPDX-License-Identifier: Apache-2.0

"""What is stored of a server is of a newer version, or damaged."""

import json

import ddt
import hypothesis
from nova import context as nova_context
from nova.db.api import models

from cell0_rebuild.conductor import builder
from cell0_rebuild.move import attempt as attempts
from cell0_rebuild import objects as ours
from tests.functional import base
from tests.functional.support import databases
from tests.functional.support import recover_base
from tests.functional.support import recovering
from tests.unit import stored_forms

NEWER = stored_forms.retained(version='2.0')


def newer_nova():
    """Return what a conductor of a newer Nova keeps."""
    values = stored_forms.retained()
    values['requested_networks']['nova_object.version'] = '1.99'
    return values


def with_attempt(values):
    """Return what is kept of a server of which no host was asked for."""
    return stored_forms.retained(
        requested_networks=None, requested_destination=None,
        injected_files=[], attempt=values)


UNREADABLE = {
    'newer_version': (NEWER, 'it is of version 2.0, and this cell0-rebuild'),
    'newer_nova': (
        newer_nova(), 'its entry requested_networks cannot be loaded: Version '
        '1.99 of NetworkRequestList'),
    'no_entries': (['a list'], 'it is damaged'),
    'newer_attempt': (
        with_attempt(stored_forms.attempted(version='2.0')),
        'it is of version 2.0, and this cell0-rebuild'),
    'damaged_attempt': (
        with_attempt(stored_forms.attempted(cells=[7])),
        'its entry cells is damaged'),
}


class StoredTestCase(base.FunctionalTestCase):
    """A server is buried, and no host can have it."""

    def setUp(self):
        super().setUp()
        self.server = self.bury()

    def store(self, section):
        """Replace what is kept of the server."""
        blob = json.loads(self.blob())
        databases.update('api', models.RequestSpec, self.server['id'],
                         spec=json.dumps({**blob, ours.SECTION: section}))

    def blob(self):
        """Return what is stored of the RequestSpec of the server."""
        [blob] = [row['spec']
                  for row in databases.dump()['api']['request_specs']
                  if row['instance_uuid'] == self.server['id']]
        return blob


@ddt.ddt
class RefusedTest(StoredTestCase):

    @ddt.data(*UNREADABLE)
    def test_what_cannot_be_read_is_409_and_the_server_deleted(self, kind):
        section, reason = UNREADABLE[kind]
        self.store(section)
        before = databases.dump()
        error = self.assert_refused(409, self.server)
        self.assertIn('cannot be read: ' + reason, error)
        self.assertEqual([], databases.differences(before, databases.dump()))
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.api.delete_server(self.server['id'])
        self._wait_until_deleted(self.server)

    def test_whatever_is_stored_the_answer_is_no_failure(self):
        codes = set()

        @hypothesis.given(stored_forms.changed(json.loads(self.blob())[
            ours.SECTION]))
        @stored_forms.settings(40)
        def ask(section):
            self.store(section)
            codes.add(self.ask())
            self.assert_shown_once(self.server['id'], 'ERROR')

        ask()
        self.assertEqual({202, 409}, codes & {202, 409})
        self.assertLessEqual(codes, {202, 400, 409})

    def ask(self):
        """Ask for a rebuild and return the code, when it has ended."""
        with self.microversion_is(base.ADDED):
            code = self.api.api_request(
                f'/servers/{self.server["id"]}/action', method='POST',
                body=json.dumps({'rebuild': {}})).status_code
        if code == 202:
            self.buried_again(self.server)
        return code


class NewerMinorTest(StoredTestCase):

    def test_what_a_newer_minor_version_has_stored_is_rebuilt(self):
        self._start_compute('host1')
        section = json.loads(self.blob())[ours.SECTION]
        self.store(dict(section, version='1.9', newer='unknown'))
        self.rebuild(self.server)
        self.active(self.server)


class MeanwhileTest(recover_base.RecoverTestCase):

    def keep_newer(self, *args, **kwargs):
        """Have what is kept be of a newer version from here on."""
        StoredTestCase.store(self, NEWER)

    blob = StoredTestCase.blob

    def test_what_becomes_unreadable_before_the_hand_over_ends_it(self):
        self.rebuild_until(recovering.HAND_OVER, before=self.keep_newer)
        self.assert_buried()
        self.assertEqual(NEWER, json.loads(self.blob())[ours.SECTION])

    def test_a_conductor_leaves_an_attempt_that_it_cannot_read(self):
        self.rebuild(self.server)
        recovering.change_entry(self.server['id'], version='2.0')
        before = databases.dump()
        self.late.deliver()
        self.assertEqual([], databases.differences(before, databases.dump()))

    def begin(self):
        """Have a conductor take it; what is stored is newer from then on."""
        self.rebuild(self.server)
        context, uuid = nova_context.get_admin_context(), self.server['id']
        attempt = attempts.begin(
            context, uuid, recovering.entry(uuid)['attempt'])
        recovering.change_entry(uuid, version='2.0')
        return context, attempt

    def test_who_cannot_read_it_any_more_does_not_go_on(self):
        self.assertFalse(attempts.refresh(*self.begin()))

    def test_what_is_refused_is_buried_though_it_cannot_be_read(self):
        context, attempt = self.begin()
        try:
            raise RuntimeError('refused')
        except RuntimeError as error:
            builder.Builder().refuse(
                context, attempt, databases.spec_of(self.server['id']), error)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertFalse(databases.has_build_request(self.server['id']))

    def test_recover_reports_such_an_attempt_and_goes_on(self):
        self.rebuild(self.server)
        recovering.change_entry(self.server['id'], version='2.0')
        unreadable, self.server = self.server, self.bury_another()
        self.rebuild(self.server)
        code, found = recovering.recover()
        self.assertIn('What is stored of the server cannot be read: it is of '
                      'version 2.0', found[unreadable['id']]['result'])
        self.assertEqual('on its way', found[self.server['id']]['state'])
        self.assertNotEqual(0, code)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assert_shown_once(unreadable['id'], 'BUILD')

    def test_recover_leaves_such_an_attempt_alone_while_it_is_young(self):
        self.rebuild(self.server)
        recovering.change_entry(self.server['id'], version='2.0')
        self.assertEqual((0, {}), recovering.recover(older_than=3600))

    def bury_another(self):
        """Return another server for which there is no host."""
        self.flags(ram=-1, group='quota')
        return self.bury(flavorRef=self._create_flavor(
            id='large', memory_mb=10 ** 8))

    def test_recover_reports_what_is_kept_and_changes_nothing(self):
        self.rebuild_until(recovering.CAST, before=recovering.crash)
        self.keep_newer()
        before = databases.dump()
        code, found = recovering.recover()
        self.assertNotEqual(0, code)
        self.assertIn('What is stored of the server cannot be read: it is of '
                      'version 2.0', found[self.server['id']]['result'])
        self.assertEqual([], databases.differences(before, databases.dump()))

    def test_the_owner_deletes_a_server_with_such_an_attempt(self):
        self.rebuild(self.server)
        recovering.change_entry(self.server['id'], version='2.0')
        self.api.delete_server(self.server['id'])
        self.late.deliver()
        self.assert_gone()
