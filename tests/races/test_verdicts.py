# SPDX-License-Identifier: Apache-2.0

"""How schedules are chosen and outcomes are judged; nothing of Nova runs."""

import hypothesis
from hypothesis import strategies as st
import testtools

from tests.races import schedules
from tests.races import turns
from tests.races import verdicts


def section(reads=(), writes=()):
    """Return what an actor does between two stops."""
    return turns.Section('begin', set(reads), set(writes))


_TABLES = st.sets(st.sampled_from('abc'), max_size=2)
_SECTIONS = st.lists(
    st.builds(section, _TABLES, _TABLES), min_size=1, max_size=5)


def orders(a, b, schedule):
    """Play a schedule; return which section of b comes before which of a."""
    names = 'ba' if schedule.swapped else 'ab'
    left = {'a': list(enumerate(a)), 'b': list(enumerate(b))}
    all_of_it = len(a) + len(b)
    counts = schedule.first, schedule.second, all_of_it, all_of_it
    seen, found = [], set()
    for name, count in zip(names * 2, counts):
        taken, left[name] = left[name][:count], left[name][count:]
        for number, what in taken:
            if name == 'b':
                seen.append((number, what))
            else:
                found |= {(earlier, number) for earlier, other in seen
                          if in_conflict(what, other)}
    return frozenset(found)


def in_conflict(one, other):
    """Tell whether two sections do not only read the same."""
    return bool(one.writes & (other.writes | other.reads)
                or one.reads & other.writes)


def texts(found):
    """Return schedules as they are written."""
    return [str(schedule) for schedule in found]


def played(*answers, verdict=verdicts.EQUAL, **state):
    """Return an outcome."""
    return verdicts.Played(list(answers), state, verdict=verdict)


class SchedulesTest(testtools.TestCase):

    def test_of_operations_that_share_no_table_none_is_run(self):
        self.assertEqual((4, []), schedules.of(
            [section(writes=['a'])] * 2, [section(writes=['b'])]))

    def test_of_operations_that_only_read_none_is_run(self):
        self.assertEqual((4, []), schedules.of(
            [section(reads=['a'])] * 2, [section(reads=['a'])]))

    def test_each_half_of_a_change_meets_a_change_of_the_other(self):
        self.assertEqual(['A:1 B:1'], texts(schedules.of(
            [section(reads=['a']), section(writes=['a'])],
            [section(writes=['a'])])[1]))

    def test_what_is_read_twice_meets_what_is_written(self):
        self.assertEqual(['A:1 B:1'], texts(schedules.of(
            [section(reads=['a']), section(reads=['a'])],
            [section(writes=['a'])])[1]))

    def test_where_one_meets_only_one_it_is_as_one_after_the_other(self):
        self.assertEqual([], schedules.of(
            [section(), section(writes=['a']), section()],
            [section(), section(reads=['a']), section()])[1])

    def test_of_two_that_differ_in_what_nobody_minds_one_is_run(self):
        self.assertEqual(['A:1 B:1'], texts(schedules.of(
            [section(writes=['a']), section(writes=['x']),
             section(writes=['a'])], [section(writes=['a'])])[1]))

    def test_each_may_begin_and_be_cut_in_two(self):
        halves = [section(writes=['a']), section(writes=['a'])]
        self.assertEqual(
            ['A:0 B:1', 'A:1 B:1', 'A:1 B:2', 'B:1 A:1'],
            texts(schedules.of(halves, halves)[1]))

    def test_of_two_that_do_the_same_it_is_no_matter_which_begins(self):
        halves = [section(writes=['a']), section(writes=['a'])]
        total, found = schedules.of(halves, halves, same=True)
        self.assertEqual((2, ['A:1 B:1', 'A:1 B:2']), (total, texts(found)))

    @hypothesis.given(_SECTIONS, _SECTIONS)
    def test_of_all_orders_of_what_is_in_conflict_each_is_run_once(self, a, b):
        every = {orders(a, b, schedules.Schedule(swapped, first, second))
                 for swapped, one, other in ((False, a, b), (True, b, a))
                 for first in range(len(one) + 1)
                 for second in range(len(other) + 1)}
        found = [orders(a, b, schedule)
                 for schedule in schedules.of(a, b)[1]]
        one_after_the_other = {
            orders(a, b, schedules.Schedule(swapped, 0, 0))
            for swapped in (False, True)}
        self.assertEqual(every - one_after_the_other, set(found))
        self.assertEqual(len(set(found)), len(found))

    def test_a_table_that_every_service_writes_counts_for_nothing(self):
        self.assertEqual([], schedules.of(
            [section(writes=['cell1.services'])] * 2,
            [section(writes=['cell1.services'])])[1])


class VerdictsTest(testtools.TestCase):

    def test_what_is_as_an_order_is_equal(self):
        self.assertEqual(verdicts.EQUAL, verdicts.of(
            played(202, 204, GET=404),
            [played(202, 202, GET=200), played(202, 204, GET=404)]))

    def test_the_answers_of_one_order_do_not_go_with_another(self):
        self.assertEqual(verdicts.DIFFERENT, verdicts.of(
            played(202, 204, GET=200),
            [played(202, 202, GET=200), played(202, 204, GET=404)]))

    def test_a_refusal_is_one_if_it_has_had_no_effect(self):
        only_the_first = played(202, verdicts.NOT_DONE, name='old')
        for name, verdict in (('old', verdicts.REFUSED),
                              ('new', verdicts.DIFFERENT)):
            self.assertEqual(verdict, verdicts.of(
                played(202, 409, name=name), [only_the_first]))

    def test_after_a_500_it_may_be_done_or_not(self):
        orders = [played(202, 200, name='new'),
                  played(202, verdicts.NOT_DONE, name='old')]
        for name in ('new', 'old'):
            self.assertEqual(verdicts.REFUSED, verdicts.of(
                played(202, 500, name=name), orders))

    def test_an_accepted_request_without_effect_is_like_no_order(self):
        self.assertEqual(verdicts.DIFFERENT, verdicts.of(
            played(202, 200, name='old'), [
                played(202, verdicts.NOT_DONE, name='old'),
                played(202, 200, name='new')]))

    def test_a_recovery_may_leave_the_name_of_a_cell(self):
        def played(*rows):
            return verdicts.Played([202], {'rows': [*rows]})

        buried, live = (f'mapped to {cell}, deleted: False'
                        for cell in ('cell0', 'cell1'))
        plain = 'retained: {"version": "1.0"}'
        named, empty = (
            f'retained: {{"attempt": {{"cells": {cells}}}, "version": "1.0"}}'
            for cells in ('["ID"]', '[]'))
        for rows, order, expected in (
                ((buried, named), (buried, plain), verdicts.CELL_NAMED),
                ((buried, plain), (buried, plain), verdicts.EQUAL),
                ((buried, empty), (buried, plain), verdicts.DIFFERENT),
                ((buried, named), (live, plain), verdicts.DIFFERENT),
                ((live, named), (live, plain), verdicts.DIFFERENT)):
            self.assertEqual(expected, verdicts.of_recovery(
                played(*rows), [played(*order)]))

    def test_an_exception_is_told_by_its_name(self):
        self.assertEqual(verdicts.AS_CREATE, verdicts.of(
            played(202, 'deleted', status='ERROR'), [
                played(202, 'deleted', status='ACTIVE'),
                played(202, 'deleted', status='ERROR',
                       verdict=verdicts.AS_CREATE)]))
