# SPDX-License-Identifier: Apache-2.0

"""The options."""

import contextlib
import io

import ddt
from oslo_config import cfg
from oslo_config import generator
import testtools

from cell0_rebuild import conf as options
from cell0_rebuild.wait import options as wait_options


@ddt.ddt
class ConfTest(testtools.TestCase):

    def test_registering_twice_is_harmless(self):
        conf = cfg.ConfigOpts()
        options.register(conf)
        options.register(conf)
        conf([], default_config_files=[])
        self.assertEqual(['error'], conf.cell0_rebuild.vm_states)

    @ddt.data(options, wait_options)
    def test_every_option_says_what_it_is_for(self, module):
        self.assertEqual([], [
            opt.name for opt in module.OPTS
            if not (opt.help or '').strip()[:1].isupper()])

    @ddt.data(
        (options, 'cell0_rebuild', 'cell0_rebuild', ()),
        (wait_options, 'cell0_rebuild.wait', 'cell0_rebuild_wait', (
            'auth_type', 'password', 'cafile', 'endpoint_override')))
    @ddt.unpack
    def test_the_sample_configuration_has_every_option(
        self, module, namespace, section, others
    ):
        conf = cfg.ConfigOpts()
        generator.register_cli_opts(conf)
        conf(['--namespace', namespace], default_config_files=[])
        sample = io.StringIO()
        with contextlib.redirect_stdout(sample):
            generator.generate(conf, sample)
        self.assertIn(f'[{section}]', sample.getvalue())
        self.assertEqual([], [
            name for name in (*(opt.name for opt in module.OPTS), *others)
            if f'\n#{name} =' not in sample.getvalue()])
