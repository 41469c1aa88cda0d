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

"""What is known of an attempt by whoever finds its build request."""

import unittest

from nova import objects

from cell0_rebuild.exhumation import mark


class MarkTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        objects.register_all()
        self.instance = objects.Instance(system_metadata={'other': 'kept'})
        self.mark = mark.Mark('generation', ['name'], {}, accepted=True)

    def test_it_is_read_as_it_was_put_on(self):
        self.mark.put_on(self.instance)
        self.assertEqual(self.mark, mark.of(self.instance))

    def test_an_instance_without_one_has_none(self):
        self.assertIsNone(mark.of(self.instance))

    def test_it_is_taken_off_alone(self):
        self.mark.put_on(self.instance)
        mark.take_off(self.instance)
        self.assertEqual({'other': 'kept'}, self.instance.system_metadata)

    def test_what_a_newer_version_has_more_is_left_out(self):
        self.assertEqual(
            mark.Mark('generation', [], {}),
            mark.read({'generation': 'generation', 'changed': [],
                       'baseline': {}, 'newer': 'unknown'}))

    def test_what_an_older_version_did_not_know_has_its_default(self):
        read = mark.read(
            {'generation': 'generation', 'changed': [], 'baseline': {}})
        self.assertIs(False, read.accepted)
