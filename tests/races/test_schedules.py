# SPDX-License-Identifier: Apache-2.0

"""Two operations meet: it ends as if one had come after the other."""

from tests.functional.support import cyborg
from tests.functional.support import failing
from tests.races import racing_base


def _with(first, *others):
    return [(first, other) for other in others]


class CapacityTest(racing_base.RaceTestCase):
    """The rebuild reaches a compute."""

    deletes = _with('rebuild', 'delete', 'force_delete', 'stock_delete')
    owner = [*_with('rebuild', 'update', 'zone', 'flag'),
             ('rebuild_image', 'zone')]
    operator = _with('rebuild', 'lock', 'reset', 'tag')
    taken = _with('rebuild', 'group', 'port', 'volume')
    builds = [('rebuild', 'rebuild'), ('rebuild', 'late'),
              ('deliver', 'deliver')]
    burials = [('rebuild', 'bury'), ('bury', 'recover')]
    recoveries = [('rebuild', 'recover'), ('rebuild', 'again'),
                  ('deliver', 'recover'), ('deliver', 'again')]

    @classmethod
    def pairs(cls):
        """Return the names of all pairs."""
        return [f'{a} | {b}' for group in (
            cls.deletes, cls.owner, cls.operator, cls.taken, cls.builds,
            cls.burials, cls.recoveries) for a, b in group]

    def test_a_delete_wins_or_comes_after(self):
        self.race_all(*self.deletes)

    def test_what_its_owner_changes_stays_changed(self):
        self.race_all(*self.owner)

    def test_what_an_operator_changes_stays_changed(self):
        self.race_all(*self.operator)

    def test_what_is_taken_from_it_is_missed_or_not(self):
        self.race_all(*self.taken)

    def test_of_two_that_build_one_does(self):
        self.race_all(*self.builds)

    def test_a_burial_is_not_disturbed(self):
        self.race_all(*self.burials)

    def test_a_recovery_harms_nobody(self):
        self.race_all(*self.recoveries)


class NoCapacityTest(CapacityTest):
    """The server is buried again."""

    capacity = False


class WithoutRebuildTest(racing_base.RaceTestCase):
    """No rebuild reaches a conductor, so that capacity is no matter."""

    capacity = False
    deletes = [*_with('update', 'delete', 'force_delete'),
               ('lock', 'delete'), ('reset', 'delete'), ('flag', 'delete')]
    burials = _with('bury', 'delete', 'force_delete', 'update', 'lock',
                    'reset')
    recoveries = _with('take_back', 'delete', 'force_delete', 'stock_delete',
                       'update', 'lock')
    unanswered = _with('unanswered', 'delete', 'force_delete', 'stock_delete',
                       'update', 'lock', 'flag', 'rebuild')

    @classmethod
    def pairs(cls):
        """Return the names of all pairs."""
        return [f'{a} | {b}' for a, b in (
            cls.deletes + cls.burials + cls.recoveries + cls.unanswered)]

    def test_who_meets_a_delete_does_what_was_asked_for(self):
        self.race_all(*self.deletes)

    def test_who_meets_a_burial_does_what_was_asked_for(self):
        self.race_all(*self.burials)

    def test_who_meets_a_recovery_does_what_was_asked_for(self):
        self.race_all(*self.recoveries)

    def test_who_meets_one_that_is_taken_back_does_what_was_asked_for(self):
        self.race_all(*self.unanswered)


class OverQuotaTest(racing_base.RaceTestCase):
    """A create is buried that is over quota when it has a host."""

    burials = [*_with('over_quota', 'delete', 'force_delete', 'update',
                      'lock', 'reset', 'recover'), ('rebuild', 'over_quota')]

    def setUp(self):
        super().setUp()
        self.flags(rebuild='never_launched', group='cell0_rebuild')

    @classmethod
    def pairs(cls):
        """Return the names of all pairs."""
        return [f'{a} | {b}' for a, b in cls.burials]

    def test_who_meets_its_burial_does_what_was_asked_for(self):
        self.race_all(*self.burials)


class UnboundTest(OverQuotaTest):
    """A create is buried whose accelerators fail when it is in a cell."""

    burials = [*_with('unbound', 'delete', 'force_delete', 'update', 'lock',
                      'reset', 'recover'), ('rebuild', 'unbound')]

    def setUp(self):
        super().setUp()
        self.cyborg = self.useFixture(cyborg.Cyborg())
        self.device_flavor = self.cyborg.add_device(self)

    def accelerators_of(self, server_id):
        """Extend: it may have some."""
        return len(self.cyborg.of(server_id))


class FailedTest(OverQuotaTest):
    """An operator buries a server that failed on its compute."""

    burials = [*_with('bury_failed', 'delete', 'force_delete', 'update',
                      'lock', 'reset', 'recover', 'bury_failed'),
               ('rebuild', 'bury_failed')]

    def setUp(self):
        self.builds = self.useFixture(failing.FailingBuilds())
        super().setUp()
        self.flags(max_attempts=1, group='scheduler')

    def _ask_all(self, asks):
        """Extend: they fail on their compute."""
        self._enable(True)
        with self.builds.failing():
            servers = super()._ask_all(asks)
            self._wait_for_assert(lambda: self.assertEqual({}, {
                server['id']: claim for server in servers
                if (claim := self._get_allocations_by_server_uuid(
                    server['id']))}))
        return servers
