# SPDX-License-Identifier: Apache-2.0

"""What names supported releases agrees with constraints/releases.csv."""

import configparser
import csv
import pathlib
import re
import subprocess

from packaging import specifiers
import testtools

from cell0_rebuild import activation
from tests import releases
from tools import run_matrix

ROOT = pathlib.Path(__file__).parents[2]
NUMBERS = sorted(releases.PYTHONS)
OLDEST, NEWEST = NUMBERS[0], NUMBERS[-1]
PYTHONS = sorted({python for several in releases.PYTHONS.values()
                  for python in several},
                 key=lambda python: int(python.partition('.')[2]))


def read(path):
    """Return the text of a file of the project."""
    return (ROOT / path).read_text(encoding='utf-8')


def planned(target):
    """Return the commands that make would run for a target."""
    return subprocess.run(
        ['make', '--dry-run', target], cwd=ROOT, capture_output=True,
        text=True, check=True).stdout


def metadata():
    """Return setup.cfg."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / 'setup.cfg')
    return parser


class NovaTest(testtools.TestCase):

    def test_every_release_has_the_versions_that_it_is_tested_with(self):
        pinned = {
            int(path.stem[-2:]): re.findall(
                r'^nova==(\d+)\.', path.read_text(), re.MULTILINE)
            for path in (ROOT / 'constraints').glob('nova*.txt')}
        self.assertEqual({number: [str(number)] for number in NUMBERS}, pinned)

    def test_the_cloud_is_of_the_newest(self):
        self.assertIn(f'\nnova>={NEWEST}.0.0,<{NEWEST + 1} ',
                      read('tools/cloud/requirements.txt'))
        self.assertIn(f'\nnova=={NEWEST}.', read('constraints/cloud.txt'))

    def test_the_range_that_is_patched_has_all_of_them_and_no_other(self):
        patched = specifiers.SpecifierSet(
            activation.TESTED_NOVA, prereleases=True)
        self.assertEqual(NUMBERS, [
            number for number in range(OLDEST - 2, NEWEST + 3)
            if f'{number}.1.0' in patched])

    def test_the_range_that_is_installed_is_the_same(self):
        asked = f'nova>={OLDEST}.0.0,<{NEWEST + 1}'
        self.assertEqual(asked, metadata()['extras']['nova'].strip())
        self.assertIn(f'\n{asked} ', read('test-requirements.txt'))

    def test_upgrades_are_from_the_oldest_and_the_last_but_one(self):
        numbers = [str(OLDEST), str(NEWEST - 1)]
        self.assertIn(f'for release in {" ".join(numbers)};',
                      planned('upgrade'))
        self.assertEqual(numbers, re.findall(
            r'upgrading\.Upgrade\((\d+)\)',
            ''.join(read(path) for path in sorted(
                (ROOT / 'tests/upgrade').glob('test_*.py')))))

    def test_every_change_is_tried_on_the_oldest_and_the_last_but_one(self):
        self.assertRegex(planned('change'), (
            rf'run_matrix.* {OLDEST} {NEWEST - 1}\n'))

    def test_the_readme_and_the_administration_name_the_range(self):
        self.assertIn(f'Nova {OLDEST} to {NEWEST}', read('README.rst'))
        self.assertRegex(
            read('doc/source/admin/compatibility.rst'),
            rf'serves Nova {OLDEST} \(\w+\) to {NEWEST} \([\d.]+\)')

    def test_the_page_of_the_matrix_has_its_rows(self):
        with open(run_matrix.DOCS, encoding='utf-8', newline='') as page:
            header, *rows = csv.reader(page)
        self.assertEqual(run_matrix.WRITTEN, tuple(header))
        self.assertEqual([row[:4] for row in run_matrix.written()],
                         [row[:4] for row in rows])

    def test_the_reference_has_the_microversions(self):
        found = {
            int(number): (highest, added)
            for numbers, highest, added in re.findall(
                r'^(\d\d(?:, \d\d)*) +(2\.\d+) +(2\.\d+) ',
                read('doc/source/reference/microversion.rst'), re.MULTILINE)
            for number in numbers.split(', ')}
        self.assertEqual({
            number: (highest, releases.next_to(highest))
            for number, highest in releases.DOCUMENTED.items()}, found)


class PythonTest(testtools.TestCase):

    def test_the_package_is_for_those_of_the_releases(self):
        found = metadata()['metadata']
        self.assertEqual(f'>={PYTHONS[0]}', found['python_requires'])
        self.assertEqual(PYTHONS, re.findall(
            r':: (3\.\d+)$', found['classifier'], re.MULTILINE))

    def test_ruff_looks_for_what_the_oldest_has_not(self):
        self.assertIn(f'target-version = "py{PYTHONS[0].replace(".", "")}"',
                      read('pyproject.toml'))

    def test_tox_has_an_environment_for_each_of_the_newest(self):
        factors = ''.join(
            f',-py{python.replace(".", "")}'
            for python in releases.PYTHONS[NEWEST])
        self.assertIn(f'[testenv:functional{{{factors}}}]', read('tox.ini'))
