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

"""The options."""

import contextlib
import io

from oslo_config import cfg
from oslo_config import generator
import testtools

from cell0_rebuild import conf as options


class ConfTest(testtools.TestCase):

    def test_registering_twice_is_harmless(self):
        conf = cfg.ConfigOpts()
        options.register(conf)
        options.register(conf)
        conf([], default_config_files=[])
        self.assertEqual(['error'], conf.cell0_rebuild.vm_states)

    def test_every_option_says_what_it_is_for(self):
        self.assertEqual([], [
            opt.name for opt in options.OPTS
            if not (opt.help or '').strip()[:1].isupper()])

    def test_the_sample_configuration_has_every_option(self):
        conf = cfg.ConfigOpts()
        generator.register_cli_opts(conf)
        conf(['--namespace', 'cell0_rebuild'], default_config_files=[])
        sample = io.StringIO()
        with contextlib.redirect_stdout(sample):
            generator.generate(conf, sample)
        self.assertIn('[cell0_rebuild]', sample.getvalue())
        self.assertEqual([], [opt.name for opt in options.OPTS
                              if f'\n#{opt.name} =' not in sample.getvalue()])
