# SPDX-License-Identifier: Apache-2.0

"""Servers that failed after a host was found: doc/source/admin/bury.rst."""

import subprocess

from tests.e2e import base
from tests.e2e import clouds
from tests.e2e import guests_base
from tools.cloud import hypervisor

_AS_ADDED = ('--os-compute-api-version', clouds.ADDED)


class _NeverLaunchedMixin:

    def setUp(self):
        super().setUp()
        self.cloud.up(rebuild='never_launched')
        self.addCleanup(self.cloud.up, rebuild='buried')

    def rebuild_by_command(self, server, *wanted):
        """Rebuild a server as its owner does."""
        self.cloud.run(*_AS_ADDED, 'server', 'rebuild', '--wait', *wanted,
                       server)
        self.assertEqual('ACTIVE', self.server(server).status)


class UnsentTestCase(_NeverLaunchedMixin, base.CloudTestCase):

    def test_one_that_was_over_quota_when_it_had_a_host_is_rebuilt(self):
        self.cloud.only_hosts_in('cell1')
        server = self.create_while_the_quota_goes()
        self.assertIn('Quota exceeded', self.server(server).fault['message'])
        self.assertEqual({}, self.cloud.allocations(server))

        self.rebuild_by_command(server)

        self.assertEqual(1, len(self.cloud.allocations(server)))

    def create_while_the_quota_goes(self):
        """Return a server whose quota was lowered during its scheduling."""
        operator, project = self.cloud.operator, self.user.current_project_id
        scheduler = self.cloud.service('nova-scheduler')
        scheduler.daemon.stop()
        try:
            server = self.create_server()
            operator.set_compute_quotas(project, instances=0)
            self.addCleanup(operator.delete_compute_quotas, project)
        finally:
            scheduler.start()
            scheduler.wait()
        self.wait_for('ERROR', server)
        operator.delete_compute_quotas(project)
        return server


class AbortedTestCase(_NeverLaunchedMixin, guests_base.GuestTestCase):

    def test_one_whose_build_was_aborted_is_buried_and_rebuilt(self):
        self.cloud.only_real_guests()
        server = self.create_server(image_id=self.too_large_image())
        self.wait_for('ERROR', server)
        self.assertIn('aborted', self.server(server).fault['message'])
        answer = self.rebuild(server)
        self.assertEqual(409, answer.status_code)
        self.assertIn('cell0-rebuild-manage bury', answer.text)

        self.bury_by_command(server)
        self.rebuild_by_command(server, '--image', guests_base.IMAGE)

        self.assertEqual(hypervisor.HOST, self.host_of(server))
        self.assertEqual(server, self.told(server)['metadata']['uuid'])

    def too_large_image(self):
        """Return an image that no flavor of the cloud has a disk for."""
        path = self.cloud.plan.folder / 'too-large.qcow2'
        subprocess.run(['qemu-img', 'create', '-q', '-f', 'qcow2', path,
                        '20G'], check=True)
        image = self.user.image.create_image(
            name=self.unique('image'), container_format='bare',
            disk_format='qcow2', filename=str(path), validate_checksum=False)
        self.addCleanup(self.user.image.delete_image, image)
        return image.id

    def bury_by_command(self, server):
        """Bury a server as an operator does."""
        done = self.cloud.manage('nova-superconductor', 'bury', server)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
