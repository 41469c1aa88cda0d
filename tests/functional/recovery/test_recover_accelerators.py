# SPDX-License-Identifier: Apache-2.0

"""What a crash leaves in Cyborg."""

from tests.functional import base
from tests.functional.support import cyborg
from tests.functional.support import recovering


class AcceleratorTest(base.FunctionalTestCase):

    def test_recovered_it_is_rebuilt_with_one_accelerator(self):
        accelerators = self.useFixture(cyborg.Cyborg())
        compute = self._start_compute('host1').service_ref.uuid
        flavor = accelerators.add_device(self)
        self.admin_api.put_service(compute, {'status': 'disabled'})
        server = self.bury(flavorRef=flavor)
        self.admin_api.put_service(compute, {'status': 'enabled'})
        # The first is bound, and no host told of it.
        self.useFixture(base.Interception(recovering.CAST, recovering.crash))
        self.rebuild(server)
        self._wait_for_assert(
            lambda: self.assertEqual(1, len(accelerators.of(server['id']))))
        self.assertEqual(0, recovering.recover(server['id'])[0])
        self.rebuild(server)
        self.active(server)
        self.assertEqual(1, len(accelerators.of(server['id'])))
