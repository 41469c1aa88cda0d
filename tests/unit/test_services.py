# SPDX-License-Identifier: Apache-2.0

"""What is patched in each service of Nova, by starting it."""

import itertools

import ddt
import testtools

from cell0_rebuild import nova_internals
from tests import releases
from tests.unit import services

OURS = ['cell0_rebuild.objects'] * 2
NOVAS = ['nova.objects.request_spec'] * 2

IN_API = sorted(map(str, (
    nova_internals.SET_API_VERSION, nova_internals.REBUILD_ACTION,
    nova_internals.REBUILD,
    nova_internals.DELETE, nova_internals.DELETE_WHILE_BOOTING,
    nova_internals.GET_INSTANCES,
    nova_internals.SAVE_BUILD_REQUEST)))
IN_CONDUCTOR = sorted(map(str, (
    nova_internals.SERVICE_START, nova_internals.SERVICE_STOP,
    nova_internals.SCHEDULE_AND_BUILD, nova_internals.BURY_IN_CELL0,
    nova_internals.SET_VM_STATE, nova_internals.BIND_ACCELERATORS,
    nova_internals.CLEAN_UP, nova_internals.MAPPING_DESTROY)))

# How Nova is told which concurrency to use. It looks at its configuration
# early, before it is ready for more, unless the environment says it.
BY_FILE = {
    'threading': {'DEFAULT': {'concurrency_backend': 'threading'}},
    'eventlet': {'DEFAULT': {'concurrency_backend': 'eventlet'}},
}
BY_ENVIRONMENT = {
    'threading': {'OS_NOVA_DISABLE_EVENTLET_PATCHING': 'true'},
    'eventlet': {'OS_NOVA_DISABLE_EVENTLET_PATCHING': 'false'},
}


class _TestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.nova = self.useFixture(services.Nova())

    def assert_runs(self, ended, **expected):
        """Check that a service came up, and what was patched in it."""
        self.assertEqual(0, ended.code, ended.output)
        # Before 34 it depends on the service.
        if not releases.has('concurrency_backend'):
            expected = {'eventlet': ended.report['eventlet'], **expected}
        self.assertEqual(
            {'wrapped': [], 'classes': NOVAS, 'microversion': releases.STOCK,
             'eventlet': False, **expected}, ended.report)

    def by_file(self, concurrency):
        """Tell Nova its concurrency in nova.conf."""
        if releases.has('concurrency_backend'):
            self.nova.configure(BY_FILE[concurrency])
        elif concurrency == 'threading':
            self.skipTest(releases.LACKS['concurrency_backend'])
        else:
            self.by_environment(concurrency)

    def by_environment(self, concurrency):
        """Tell Nova its concurrency in the environment."""
        if concurrency == 'threading' and not releases.has('threads'):
            self.skipTest(releases.LACKS['threads'])
        self.nova.environment |= BY_ENVIRONMENT[concurrency]

    def assert_refuses(self, ended, target):
        """Check that a service ended and said why."""
        self.assertNotEqual(0, ended.code)
        self.assertIn('cell0-rebuild cannot patch', ended.output)
        self.assertIn(str(target), ended.output)
        self.assertIn('Nothing is patched.', ended.output)
        self.assertNotIn('Traceback', ended.output)

    def assert_warns(self, ended, target):
        """Check that a service said what it runs without, and why."""
        self.assertIn('WARNING: cell0-rebuild cannot patch', ended.output)
        self.assertIn(str(target), ended.output)


@ddt.ddt
class EnabledTest(_TestCase):

    def setUp(self):
        super().setUp()
        self.nova.configure(services.ENABLED)

    @ddt.data(*itertools.product(
        ('threading', 'eventlet'), ('by_file', 'by_environment')))
    @ddt.unpack
    def test_a_conductor_has_its_patches_and_listens(self, concurrency, told):
        getattr(self, told)(concurrency)
        self.assert_runs(
            self.nova.probe('nova-conductor'),
            wrapped=IN_CONDUCTOR, classes=OURS, answers=True,
            eventlet=concurrency == 'eventlet')

    @ddt.data(
        ('nova-conductor', IN_CONDUCTOR), (releases.API, IN_API))
    @ddt.unpack
    def test_it_logs_once_what_it_has_patched(self, program, patched):
        output = self.nova.probe(program).output
        [line] = [line for line in output.splitlines()
                  if 'cell0-rebuild' in line]
        self.assertRegex(
            line, r'INFO .* cell0-rebuild \S+ is active in nova-\w+ of Nova '
                  r'\S+ and has patched ')
        self.assertEqual([], [name for name in patched if name not in line])

    @ddt.data('threading', 'eventlet')
    def test_a_scheduler_is_left_alone(self, concurrency):
        # That of Nova 26 does not start without.
        self.nova.configure({'placement': {
            'endpoint_override':
                self.useFixture(services.Placement()).url}})
        self.by_file(concurrency)
        self.assert_runs(self.nova.probe('nova-scheduler'),
                         eventlet=concurrency == 'eventlet')

    @ddt.data('threading', 'eventlet')
    def test_a_compute_is_left_alone(self, concurrency):
        self.by_file(concurrency)
        self.assert_runs(self.nova.probe('nova-compute'),
                         eventlet=concurrency == 'eventlet')

    @ddt.data('threading', 'eventlet')
    def test_the_management_command_has_only_our_spec(self, concurrency):
        self.by_file(concurrency)
        self.assert_runs(
            self.nova.probe('nova-manage', 'cell_v2', 'list_cells'),
            classes=OURS, eventlet=concurrency == 'eventlet')

    @releases.needs('concurrency_backend')
    def test_nothing_that_eventlet_changes_is_imported_before_it(self):
        # Nova warns of modules that were imported before it was patched.
        self.by_file('eventlet')
        ended = self.nova.probe('nova-manage', 'cell_v2', 'list_cells')
        self.assertTrue(ended.report['eventlet'])
        self.assertNotIn('monkey patching issues', ended.output)

    @ddt.data('threading', 'eventlet')
    def test_the_api_has_its_patches_and_shows_its_number(self, concurrency):
        self.by_environment(concurrency)
        self.assert_runs(
            self.nova.probe(releases.API), wrapped=IN_API,
            classes=OURS, microversion=releases.ADDED,
            eventlet=concurrency == 'eventlet')

    @ddt.data('threading', 'eventlet')
    def test_the_metadata_api_is_left_alone(self, concurrency):
        self.by_environment(concurrency)
        self.assert_runs(self.nova.probe(releases.METADATA),
                         eventlet=concurrency == 'eventlet')


class MismatchTest(_TestCase):

    def setUp(self):
        super().setUp()
        self.nova.configure(services.ENABLED)

    def deceive(self, name):
        """Make a target mismatch, and return what is said about it."""
        self.nova.deceive(name)
        target = getattr(nova_internals, name)
        return (f'{target} has the signature ({target.signature}) where '
                f'(another) was tested')

    def run_as_nova(self):
        """Let a service run as Nova is, rather than refuse to start."""
        self.nova.configure({'cell0_rebuild': {'on_mismatch': 'stock'}})

    def test_a_conductor_refuses_to_start(self):
        said = self.deceive('BURY_IN_CELL0')
        self.assert_refuses(self.nova.start('nova-conductor'), said)

    def test_a_conductor_runs_as_nova_if_so_chosen(self):
        said = self.deceive('BURY_IN_CELL0')
        self.run_as_nova()
        ended = self.nova.probe('nova-conductor')
        self.assert_runs(ended, answers=False)
        self.assert_warns(ended, said)

    def test_a_conductor_does_not_care_about_the_api(self):
        self.deceive('REBUILD')
        self.assert_runs(
            self.nova.probe('nova-conductor'),
            wrapped=IN_CONDUCTOR, classes=OURS, answers=True)

    def test_the_api_refuses_to_start(self):
        said = self.deceive('REBUILD')
        self.assert_refuses(self.nova.load(releases.API), said)

    def test_the_api_runs_as_nova_if_so_chosen(self):
        said = self.deceive('REBUILD')
        self.run_as_nova()
        ended = self.nova.probe(releases.API)
        self.assert_runs(ended)
        self.assert_warns(ended, said)

    def test_the_management_command_goes_on(self):
        self.nova.deceive('REQUEST_SPEC[2]')
        ended = self.nova.start('nova-manage', 'version')
        self.assertEqual(0, ended.code, ended.output)
        self.assertIn(
            f'{releases.RELEASE}.', ended.output.splitlines()[-1])
        self.assert_warns(
            ended, 'nova.objects.request_spec:RequestSpec._save_in_db')

    def test_a_compute_does_not_care(self):
        self.nova.deceive('SERVICE_START')
        self.assert_runs(self.nova.probe('nova-compute'))


class NotEnabledTest(_TestCase):

    def test_nothing_is_patched_in_a_conductor(self):
        self.assert_runs(self.nova.probe('nova-conductor'), answers=False)

    def test_nothing_is_patched_in_the_api(self):
        self.assert_runs(self.nova.probe(releases.API))

    def test_nothing_is_patched_in_the_management_command(self):
        self.assert_runs(
            self.nova.probe('nova-manage', 'cell_v2', 'list_cells'),
            eventlet=True)
