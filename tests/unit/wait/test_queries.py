# SPDX-License-Identifier: Apache-2.0

from urllib import parse

import ddt
import hypothesis
from hypothesis import strategies as st
import testtools

from cell0_rebuild.wait.demand import queries

QUERY = parse.urlencode([
    ('group_policy', 'none'), ('limit', '1000'),
    ('member_of', 'in:zone'), ('required', 'FAST,!COMPUTE_STATUS_DISABLED'),
    ('required_port', 'PHYSNET'), ('resources', 'MEMORY_MB:512,VCPU:2'),
    ('resources_port', 'BANDWIDTH:1'), ('resources_gpu', 'PGPU:1'),
    ('root_required', 'ROOT'), ('same_subtree', '_gpu,_port')])

names = st.sampled_from(['', '_a', '_b'])
resources = st.lists(
    st.sampled_from(['VCPU:1', 'MEMORY_MB:2', 'DISK_GB:3']), min_size=1,
    unique=True).map(','.join)
traits = st.lists(st.sampled_from(['A', '!B', 'C']), min_size=1,
                  unique=True).map(','.join)


@st.composite
def built(draw):
    """Return a query as ResourceRequest builds it."""
    pairs = []
    for name in draw(st.sets(names, min_size=1)):
        pairs.append((f'resources{name}', draw(resources)))
        if draw(st.booleans()):
            pairs.append((f'required{name}', draw(traits)))
        if draw(st.booleans()):
            pairs.append((f'member_of{name}', 'in:x,y'))
    return parse.urlencode(sorted(pairs))


def parsed(query):
    """Return a query as a dictionary."""
    return dict(parse.parse_qsl(query))


class QueriesTestCase(testtools.TestCase):

    def _without(self, kind, what):
        [demand] = [one for one in queries.demands(QUERY)
                    if (one.kind, one.what) == (kind, what)]
        return parsed(queries.without(QUERY, demand))

    def test_everything_that_is_asked_for_is_a_demand(self):
        self.assertEqual(
            ['512 MEMORY_MB', '2 VCPU', '1 PGPU', '1 BANDWIDTH',
             'trait FAST', 'trait PHYSNET', 'trait ROOT',
             'without trait COMPUTE_STATUS_DISABLED',
             'availability zone or aggregate'],
            [str(one) for one in queries.demands(QUERY)])

    def test_a_resource_is_left_out_alone(self):
        self.assertEqual(
            dict(parsed(QUERY), resources='MEMORY_MB:512'),
            self._without(queries.Kind.RESOURCE, 'VCPU'))

    def test_a_trait_is_left_out_alone(self):
        self.assertEqual(
            dict(parsed(QUERY), required='!COMPUTE_STATUS_DISABLED'),
            self._without(queries.Kind.TRAIT, 'FAST'))

    def test_a_group_without_resources_goes_as_a_whole(self):
        expected = parsed(QUERY)
        for name in ('resources_port', 'required_port', 'same_subtree',
                     'group_policy'):
            del expected[name]
        self.assertEqual(
            expected, self._without(queries.Kind.RESOURCE, 'BANDWIDTH'))

    def test_a_query_for_nothing_is_none(self):
        query = 'resources=VCPU%3A1'
        self.assertIsNone(
            queries.without(query, queries.demands(query)[0]))

    def test_the_limit_is_the_one_that_is_asked_for(self):
        self.assertEqual(dict(parsed(QUERY), limit='1'),
                         parsed(queries.limited(QUERY, 1)))

    @hypothesis.given(built())
    def test_a_demand_less_is_all_that_changes(self, query):
        before = queries.demands(query)
        for demand in before:
            rest = queries.without(query, demand)
            if rest is None:
                continue
            gone = set(before) - set(queries.demands(rest))
            self.assertIn(demand, gone)
            if len(gone) > 1:
                self.assertEqual({demand.group}, {one.group for one in gone})
                self.assertEqual([], [
                    one for one in queries.demands(rest)
                    if one.group == demand.group])
            self.assertEqual(set(), set(queries.demands(rest)) - set(before))


@st.composite
def grouped(draw):
    """Return the same query twice, with other names of its groups."""
    groups = draw(st.lists(
        st.tuples(resources, st.none() | traits), min_size=1, max_size=4))
    found = []
    for names in (draw(st.permutations(['_a', '_b', '_c', '_d', '_e'])),
                  draw(st.permutations(['_1', '_2', '_3', '_4', '_5']))):
        pairs = [('resources', 'VCPU:1')]
        for (wanted, required), name in zip(groups, names):
            pairs.append((f'resources{name}', wanted))
            if required:
                pairs.append((f'required{name}', required))
        if len(groups) > 1:
            pairs.append(
                ('same_subtree', ','.join(names[:len(groups)])))
        found.append(parse.urlencode(sorted(pairs)))
    return found


class CanonicalTestCase(testtools.TestCase):

    def test_groups_are_named_by_what_they_ask_for(self):
        self.assertEqual(
            {**{name: value for name, value in parsed(QUERY).items()
                if '_port' not in name and '_gpu' not in name},
             'required_0': 'PHYSNET', 'resources_0': 'BANDWIDTH:1',
             'resources_1': 'PGPU:1', 'same_subtree': '_0,_1'},
            parsed(queries.canonical(QUERY)))

    @hypothesis.given(grouped())
    def test_names_of_groups_do_not_matter(self, found):
        one, other = found
        self.assertEqual(
            queries.canonical(one), queries.canonical(other))

    @hypothesis.given(built())
    def test_nothing_that_is_asked_for_is_lost(self, query):
        def plain(query):
            return sorted(str(one) for one in queries.demands(query))
        self.assertEqual(plain(query), plain(queries.canonical(query)))

    @hypothesis.given(built())
    def test_once_is_enough(self, query):
        canonical = queries.canonical(query)
        self.assertEqual(canonical, queries.canonical(canonical))


@ddt.ddt
class CoveredTest(testtools.TestCase):
    """Where there is no room for one query, there is none for another."""

    @ddt.data(
        # The same and more of it.
        ('resources=VCPU:1', 'resources=VCPU:2', True),
        ('resources=VCPU:2', 'resources=VCPU:1', False),
        ('resources=VCPU:1', 'resources=VCPU:1,DISK_GB:1', True),
        ('resources=VCPU:1,DISK_GB:1', 'resources=VCPU:1', False),
        # Not each host has an amount that is a multiple of another one.
        ('resources=CUSTOM_A:1', 'resources=CUSTOM_A:2', False),
        ('resources=CUSTOM_A:1', 'resources=CUSTOM_A:1,VCPU:1', True),
        ('resources=VCPU:1', 'required=A&resources=VCPU:1', True),
        ('required=A&resources=VCPU:1', 'resources=VCPU:1', False),
        ('required=A&resources=VCPU:1', 'required=!A&resources=VCPU:1', False),
        ('resources=VCPU:1', 'member_of=in:a&resources=VCPU:1', True),
        ('member_of=in:a&resources=VCPU:1', 'member_of=in:b&resources=VCPU:1',
         False),
        # Groups are compared as a whole, and so are their relations.
        ('resources=VCPU:1', 'resources=VCPU:1&resources_0=A:1', True),
        ('resources=VCPU:1&resources_0=A:1', 'resources=VCPU:1', False),
        ('resources_0=VCPU:1', 'resources=VCPU:1', False),
        ('resources=VCPU:1&resources_0=A:1',
         'resources=VCPU:2&resources_0=A:1', True),
        ('group_policy=isolate&resources=VCPU:1&resources_0=A:1',
         'group_policy=none&resources=VCPU:2&resources_0=A:1', False),
        ('root_required=A&resources=VCPU:1',
         'root_required=B&resources=VCPU:1', False),
        ('limit=50&resources=VCPU:1', 'limit=1000&resources=VCPU:1', True),
        # What is not known could mean anything.
        ('strange=1&resources=VCPU:1', 'resources=VCPU:1', False))
    @ddt.unpack
    def test_it_asks_for_the_same_and_more(self, less, more, covered):
        self.assertIs(covered, queries.asks_for_more(
            queries.Parts(more), queries.Parts(less)))
