#    Licensed under the Apache License, Version 2.0 (the "License"); you may
#    not use this file except in compliance with the License. You may obtain
#    a copy of the License at
#
#         http://www.apache.org/licenses/LICENSE-2.0
#
#    Unless required by applicable law or agreed to in writing, software
#    distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
#    WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
#    License for the specific language governing permissions and limitations
#    under the License.

"""What one functional test leaves to the next."""

import time

import testtools

from tests.functional import base
from tests import releases


class Slow(base.FunctionalTestCase):
    """A test on a machine so busy that its services take long to stop."""

    stopped: list[str] = []

    def start_service(self, name, *args, **kwargs):
        service = super().start_service(name, *args, **kwargs)
        shut_down = service.manager.graceful_shutdown

        def slowly(timeout):
            time.sleep(0.3)
            shut_down(timeout)
            self.stopped.append(name)
        service.manager.graceful_shutdown = slowly
        return service

    def start_a_compute(self):
        self._start_compute('host1')


@releases.needs('graceful_shutdown')
class IsolationTest(testtools.TestCase):

    def test_services_that_stop_slowly_have_stopped_before_the_next_test(self):
        from nova import thread_pool_factory
        self.addCleanup(
            setattr, thread_pool_factory.FACTORY, '_shutdown', False)
        found = Slow('start_a_compute').run()
        self.assertTrue(found.wasSuccessful(), found)
        self.assertEqual(['compute', 'conductor', 'scheduler'],
                         sorted(Slow.stopped))
        self.assertFalse(thread_pool_factory.FACTORY._shutdown)
