# SPDX-License-Identifier: Apache-2.0

"""``cell0-rebuild-wait --once`` and ``--dry-run`` sweep once."""

import contextlib
import datetime
import io

from nova.db.main import models
from oslo_utils import timeutils

from cell0_rebuild.cmd import wait
from cell0_rebuild.wait import values
from tests.functional import base
from tests.functional.support import databases
from tests.functional.wait import sweeping


class OnceTestCase(sweeping.SweepMixin, base.FunctionalTestCase):

    def setUp(self):
        super().setUp()
        self.fill()
        self.servers = [self.wait_for_room() for _ in range(2)]
        self.make_room(3)

    def once(self, dry_run):
        """Sweep once; return what is printed."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(wait.DONE, wait._once(dry_run))
        return output.getvalue()

    def codes_told(self, server):
        """Return the codes of the reasons that the owner reads."""
        return [values.parsed(message).code.value
                for message in self.told(server)]

    def test_a_dry_run_prints_who_would_be_rebuilt_and_who_waits(self):
        before = databases.dump()
        self.assertEqual(
            f'{self.servers[0]["id"]} would be rebuilt.\n1 wait: order\n',
            self.once(dry_run=True))
        self.assertEqual([], databases.differences(before, databases.dump()))
        self.assertEqual([], self.asked())

    def test_one_sweep_rebuilds_and_prints_nothing(self):
        self.assertEqual('', self.once(dry_run=False))
        self.active(self.servers[0])
        self.assertEqual([self.servers[0]['id']], self.asked())

    def test_the_owner_reads_why_a_server_waits_now(self):
        server = self.servers[1]
        self.once(dry_run=False)
        self.active(self.servers[0])
        self.assertEqual(['order'], self.codes_told(server))
        self.fill()
        self.once(dry_run=False)
        self.assertEqual(['capacity'], self.codes_told(server))
        databases.update(
            'cell0', models.Instance, server['id'],
            created_at=timeutils.utcnow() - datetime.timedelta(days=2))
        self.once(dry_run=False)
        self.assertEqual(['expired'], self.codes_told(server))

    def test_the_next_one_forgets_that_a_kind_rests(self):
        self.stub_out('nova.scheduler.manager.SchedulerManager.'
                      '_get_sorted_hosts', lambda *args, **kwargs: [])
        for server in self.servers:
            self.once(dry_run=False)
            self.buried_again(server)
        self.once(dry_run=False)
        self.assertEqual(
            [server['id'] for server in self.servers], self.asked())
