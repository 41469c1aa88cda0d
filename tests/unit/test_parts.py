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

"""Small parts that need no service of Nova."""

import fixtures
from nova import exception
import testtools

from cell0_rebuild.api import refusals
from cell0_rebuild.exhumation import ec2


class Strange(exception.NovaException):
    """An error of Nova that no create answers."""


class TranslationTest(testtools.TestCase):

    def test_what_a_create_would_not_answer_stays_an_error(self):
        def fail():
            with refusals.translated():
                raise Strange()
        self.assertRaises(Strange, fail)


class Ec2Test(testtools.TestCase):

    def test_a_nova_that_has_looked_nothing_up_has_nothing_to_forget(self):
        self.useFixture(fixtures.MonkeyPatch('nova.objects.ec2._CACHE', None))
        self.assertIsNone(ec2.forget_id('uuid'))
