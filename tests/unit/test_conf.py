# SPDX-License-Identifier: Apache-2.0

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
