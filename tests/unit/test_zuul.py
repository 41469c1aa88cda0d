# SPDX-License-Identifier: Apache-2.0

"""The jobs for Zuul name only what the repository has."""

import configparser
import pathlib
import re

import testtools
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# The environments of tox that the jobs of the templates run in.
TEMPLATES = {
    'openstack-python3-jobs': ('pep8', 'py311', 'py313'),
    'publish-openstack-docs-pti': ('docs',),
    'release-notes-jobs-python3': (),
}
PLAYBOOKS = ('pre-run', 'run', 'post-run', 'cleanup-run')
OURS = 'cell0-rebuild'
TOX = 'openstack-tox-'


def environments():
    """Return the environments of tox.ini, and the ones that need none."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / 'tox.ini')
    found = {'py311', 'py312', 'py313'}
    for section in parser.sections():
        name, _, endings = section.removeprefix('testenv:').partition('{')
        found.update(
            name + ending for ending in endings.rstrip('}').split(','))
    return found


class ZuulTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        items = yaml.safe_load((ROOT / '.zuul.yaml').read_text())
        self.jobs = {item['job']['name']: item['job'] for item in items
                     if 'job' in item}
        [self.project] = [
            item['project'] for item in items if 'project' in item]

    def used(self):
        """Return the names of the jobs that a pipeline or job refers to."""
        names = {job['parent'] for job in self.jobs.values()}
        for pipeline in self.project.values():
            if isinstance(pipeline, dict):
                names.update(pipeline['jobs'])
        return names

    def test_every_job_of_ours_that_is_used_is_defined(self):
        self.assertEqual(set(), {
            name for name in self.used() if name.startswith(OURS)
        } - set(self.jobs))

    def test_every_job_that_is_defined_is_used(self):
        self.assertEqual(set(), set(self.jobs) - self.used())

    def test_every_environment_of_tox_exists(self):
        named = {name.removeprefix(TOX) for name in self.used()
                 if name.startswith(TOX)}
        for template in self.project['templates']:
            named.update(TEMPLATES[template])
        # Those of DevStack are of Tempest.
        named.update(
            job['vars']['tox_envlist'] for job in self.jobs.values()
            if job['parent'].startswith('openstack-tox') and 'vars' in job)
        self.assertEqual(set(), named - environments())

    def test_all_tests_run_each_night(self):
        # "make test", which each change has to pass, leaves parts to it.
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(ROOT / 'tox.ini')
        commands = [
            parser[f'testenv:{self.jobs[name]["vars"]["tox_envlist"]}'][
                'commands'].strip()
            for name in self.project['periodic']['jobs']]
        self.assertEqual(['make test-all'], commands)

    def test_every_playbook_exists(self):
        named = [playbook for job in self.jobs.values() for when in PLAYBOOKS
                 for playbook in ([job[when]] if isinstance(job.get(when), str)
                                  else job.get(when, []))]
        self.assertEqual([], [
            playbook for playbook in named if not (ROOT / playbook).exists()])

    def test_devstack_plugin_has_the_name_that_is_enabled(self):
        defined = re.search(
            r'^define_plugin (\S+)$',
            (ROOT / 'devstack/settings').read_text(), re.MULTILINE)
        enabled = {name for job in self.jobs.values() for name
                   in job.get('vars', {}).get('devstack_plugins', ())}
        self.assertEqual({defined[1]}, enabled)

    def test_tempest_is_run_with_every_service_of_the_plugin(self):
        known = set(re.findall(
            r'is_service_enabled (cell0-rebuild-[\w-]+)',
            (ROOT / 'devstack/plugin.sh').read_text()))
        enabled = [
            {name for name, wanted in job['vars']['devstack_services'].items()
             if wanted and name.startswith(OURS)}
            for job in self.jobs.values()
            if 'devstack_plugins' in job.get('vars', {})]
        self.assertEqual([known], enabled)

    def test_tests_that_tempest_is_to_run_exist(self):
        named = {job['vars']['tempest_test_regex']
                 for job in self.jobs.values()
                 if 'tempest_test_regex' in job.get('vars', {})}
        modules = ['.'.join(path.relative_to(ROOT).with_suffix('').parts)
                   for path in ROOT.glob('*_tempest_plugin/**/test_*.py')]
        self.assertEqual(set(), {
            regex for regex in named
            if not any(re.search(regex, module) for module in modules)})
