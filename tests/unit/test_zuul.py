# SPDX-License-Identifier: Apache-2.0

"""The gate: three stages, the same for CI, Zuul, tox and a developer."""

import configparser
import pathlib
import re
import subprocess

import testtools
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# The environments of tox that the jobs of the templates run in.
TEMPLATES = {
    'openstack-python3-jobs': ('pep8', 'py311', 'py313'),
    'publish-openstack-docs-pti': ('docs',),
    'release-notes-jobs-python3': (),
}
# The stages, and the pipelines of Zuul that run them.
PIPELINES = {'change': {'check', 'gate'}, 'night': {'periodic'},
             'release': {'release'}}
# What tests or measures: each belongs to a stage.
TESTING = ('check', 'test', 'test-all', 'e2e', 'few-e2e', 'stress', 'soak',
           'test-faults', 'test-races', 'matrix', 'matrix-edges', 'upgrade',
           'fuzz', 'mutants', 'nova-tests', 'compare-tempest', 'cover',
           'bench', 'simulate', 'audit', 'dist', 'demo')
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


def commands(target):
    """Return what make would run for a target."""
    return set(subprocess.run(
        ['make', '--dry-run', target], cwd=ROOT, capture_output=True,
        text=True, check=True).stdout.splitlines())


class StageTest(testtools.TestCase):

    def test_each_stage_is_called_by_its_name_wherever_it_is_run(self):
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(ROOT / 'tox.ini')
        jobs = [item['job'] for item in yaml.safe_load(
            (ROOT / '.zuul.yaml').read_text()) if 'job' in item]
        self.assertEqual('make VENV=.venv --keep-going {envname}', parser[
            f'testenv:{{{",".join(PIPELINES)}}}']['commands'].strip())
        for stage in PIPELINES:
            self.assertIn({'tox_envlist': stage}, [
                job.get('vars') for job in jobs
                if job['name'] == f'{OURS}-{stage}'])
            self.assertIn(f'``make {stage}``',
                          (ROOT / 'CONTRIBUTING.rst').read_text())
        self.assertRegex((ROOT / '.ci/run').read_text(),
                         r'\nexec make .* change\n$')

    def test_every_test_is_run_by_a_stage(self):
        run = set.union(*map(commands, PIPELINES))
        for target in TESTING:
            self.assertEqual(set(), commands(target) - run, target)

    def test_what_is_mutated_is_there_with_its_tests(self):
        text = (ROOT / 'tools/cosmic-ray.toml').read_text()
        modules = re.findall(r'"(cell0_rebuild/[^"]+)"', text)
        named = [f'{name.replace(".", "/")}.py' for name in re.findall(
            r'tests\.unit[\w.]+', text)]
        self.assertEqual([], [
            name for name in [*modules, *named]
            if not (ROOT / name).exists()])
        tests = {pathlib.Path(name).stem for name in named}
        texts = [(ROOT / name).read_text() for name in modules]
        for name in modules:
            module = pathlib.Path(name).stem
            # Or those of who uses it.
            self.assertTrue(f'test_{module}' in tests or any(
                f' import {module}\n' in text for text in texts), name)


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

    def test_a_stage_has_a_job_in_its_pipeline_alone(self):
        pipelines = {
            name: set(pipeline['jobs'])
            for name, pipeline in self.project.items()
            if isinstance(pipeline, dict)}
        for stage, wanted in PIPELINES.items():
            self.assertEqual(wanted, {
                name for name, jobs in pipelines.items()
                if f'{OURS}-{stage}' in jobs})

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
