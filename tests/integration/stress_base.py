# SPDX-License-Identifier: Apache-2.0

"""What has to be right when many clients have done what they liked."""

import os
import time

from tests.integration import base
from tests.integration import consistency
from tests.integration import processes

SECONDS = int(os.environ.get('CELL0_REBUILD_STRESS', '30'))
SEED = os.environ.get('CELL0_REBUILD_STRESS_SEED', '1')


def shared_cloud(*changes):
    """Return a cloud with two conductors and two hosts.

    To be called from ``setUpModule`` of its tests.

    :param changes: of the options of the hosts.
    """
    cloud = base.shared_cloud()
    cloud.conductors(enabled=['one', 'two'])
    for host in ('host', 'other'):
        cloud.add_host(host, *changes)
    return cloud


class StressTestCase(base.CloudTestCase):

    def assert_right(self, crowd):
        """Check a crowd, and all that is stored of its servers."""
        problems = [*crowd.problems, *self.look(crowd)]
        self.assertEqual([], problems, self.story(crowd))
        self.assertEqual([], crowd.unheard(), self.story(crowd))

    def look(self, crowd):
        """Return what is wrong when nothing happens any more."""
        try:
            processes.poll(lambda: not self.busy(crowd), 'the end', 240)
        except processes.ProcessError:
            check = consistency.Check(self.cloud)
            return [f'{server} stays {state}, {vars(crowd.servers[server])}, '
                    f'{check.faults_of(crowd.servers[server])}'
                    for server, state in self.busy(crowd).items()]
        # A compute tells Placement after the server is gone.
        found = []
        for _ in range(10):
            check = consistency.Check(self.cloud)
            for server in crowd.servers.values():
                check.check(server)
            check.check_nobody_else(crowd.servers.values())
            found = check.problems
            if not found:
                break
            time.sleep(1)
        return found

    def busy(self, crowd):
        """Return the states of the servers that something happens to."""
        found = {}
        for one in self.cloud.api.get('/servers/detail')['servers']:
            state = one['status'], one['OS-EXT-STS:task_state']
            if (state[0] not in ('ACTIVE', 'ERROR') or state[1]
                    or crowd.servers[one['id']].deleted):
                found[one['id']] = state
        if found:
            # One that Nova has left in REBUILD stays there.
            check = consistency.Check(self.cloud)
            found = {server: state for server, state in found.items()
                     if not check.is_overtaken(crowd.servers[server]) or (
                         crowd.servers[server].deleted and
                         not check.is_left_by_delete(crowd.servers[server]))}
        return found

    def story(self, crowd):
        """Tell how it went."""
        answers = ', '.join(f'{name} {code}: {count}' for (name, code), count
                            in sorted(crowd.answers.items(), key=str))
        return (f'CELL0_REBUILD_STRESS_SEED={SEED}, {len(crowd.servers)} '
                f'servers, {answers}')
