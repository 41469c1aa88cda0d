# SPDX-License-Identifier: Apache-2.0

"""A database commits, and then its connection is lost."""

from oslo_db import exception as db_exc

from cell0_rebuild import exceptions
from tests.functional import base
from tests.functional.support import databases
from tests.functional.moves import lost_commits
from tests.functional.support import races_base
from tests.functional.support import recovering


class LostCommitTest(races_base.RaceTestCase):
    """A database has committed, and then its connection is lost."""

    def test_a_move_that_is_refused_leaves_no_trace(self):
        self._assert_refused_without_a_trace('api')

    def test_a_new_image_that_is_refused_leaves_no_trace(self):
        self._assert_refused_without_a_trace(
            'api', imageRef=self.glance.auto_disk_config_enabled_image['id'])

    def test_a_hiding_that_is_refused_leaves_no_trace(self):
        self._assert_refused_without_a_trace('cell0')

    def test_a_hiding_and_no_database_since_show_it_in_build(self):
        self.stub_out(
            recovering.SHOW, self._raise_away)
        self.useFixture(lost_commits.LostCommit('cell0'))
        self.assert_refused(409, self.server)
        self.assert_shown_once(self.server['id'], 'BUILD')

    def test_a_conductor_that_has_taken_it_builds_it(self):
        # The first is nova-api's.
        self.useFixture(lost_commits.LostCommit('api', number=2))
        self.rebuild(self.server)
        self.active(self.server)

    def test_a_conductor_that_has_handed_it_over_buries_it_again(self):
        self.useFixture(base.Interception(
            recovering.END, after=self._raise_away))
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual([], databases.dump()['cell1']['instances'])

    def test_a_hand_over_that_is_not_committed_leaves_no_build_request(self):
        self.useFixture(base.Interception(
            recovering.END, before=self._raise_away))
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        found = databases.dump()
        self.assertEqual([], found['api']['build_requests'])
        self.assertEqual([], found['cell1']['instances'])

    def test_a_cast_that_fails_and_a_lost_commit_show_it_once(self):
        self.useFixture(base.Interception(base.CAST, before=self._raise_away))
        self.useFixture(base.Interception(
            recovering.REMAP, after=self._raise_away))
        self.rebuild(self.server)
        self.buried_again(self.server)
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertEqual([], databases.dump()['cell1']['instances'])

    def test_a_refused_rebuild_is_taken_back_as_a_whole(self):
        def be_silent(*args):
            raise exceptions.NoConductor('no answer')
        self.stub_out(recovering.REQUEST, be_silent)
        self._assert_refused_without_a_trace('api', number=2)

    def test_a_hiccup_while_it_is_taken_back_leaves_no_trace(self):
        def be_silent(*args):
            raise exceptions.NoConductor('no answer')
        self.stub_out(recovering.REQUEST, be_silent)
        hiccup = self.useFixture(base.Interception(
            recovering.BACK,
            before=self._raise_away))
        before = databases.dump()
        self.assert_refused(409, self.server)
        self.assertEqual([], self._changed_since(before))
        self.assert_shown_once(self.server['id'], 'ERROR')
        self.assertNotIn('before', hiccup.waiting())

    def _assert_refused_without_a_trace(
        self, database, number=1, **body
    ):
        before = databases.dump()
        self.useFixture(lost_commits.LostCommit(database, number))
        self.assert_refused(409, self.server, **body)
        self.assertEqual([], self._changed_since(before))
        self.assert_shown_once(self.server['id'], 'ERROR')

    def _changed_since(self, before):
        return [line for line in databases.differences(
            before, databases.dump()) if '.updated_at: ' not in line]

    def _raise_away(self, *args, **kwargs):
        raise db_exc.DBConnectionError()
