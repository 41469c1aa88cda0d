# SPDX-License-Identifier: Apache-2.0

"""Which servers that failed can be buried, and why the others cannot."""

import dataclasses
import datetime

import ddt
import testtools

from cell0_rebuild.failed import verdict

_STARTED = datetime.datetime(2030, 1, 1, 12)
_BUILD = verdict.Build('host1', _STARTED, True)
_FAILED = verdict.Failed(
    has_entry=False, launched=False, vm_state='error', task_state=None,
    host=None, actions=(verdict.Action('create', (_BUILD,)),),
    failed_at=_STARTED, has_volumes=False, is_only_try=True, is_retained=True,
    hypervisor='QEMU')


def _builds(*builds):
    return {'actions': (verdict.Action('create', builds),)}


@ddt.ddt
class FailedTest(testtools.TestCase):

    def test_one_that_failed_in_its_only_build_can_be_buried(self):
        self.assertIsNone(verdict.why_not(_FAILED))

    @ddt.data('rebuild', 'bury', 'wait', 'lock', 'unlock')
    def test_an_action_that_begins_no_build_is_not_against_it(self, name):
        self.assertIsNone(verdict.why_not(dataclasses.replace(
            _FAILED, actions=(*_FAILED.actions, verdict.Action(name)))))

    def test_only_the_builds_of_the_last_request_count(self):
        last = verdict.Build('host2', _STARTED, True)
        found = dataclasses.replace(_FAILED, actions=(
            *_FAILED.actions, verdict.Action('rebuild', (last,)),
            verdict.Action('bury')))
        self.assertIsNone(verdict.why_not(found))
        self.assertEqual((last,), found.last_builds)

    @ddt.data(
        ({'has_entry': True}, 'A rebuild or a burial of it has not ended'),
        ({'launched': True}, 'It has run'),
        ({'task_state': 'scheduling'}, 'It is scheduling'),
        ({'vm_state': 'building'}, 'It is building, and not in error'),
        ({'host': 'host1'}, 'It is on host host1'),
        ({'actions': (*_FAILED.actions, verdict.Action('resetState'))},
         'It has an action resetState'),
        ({'actions': (verdict.Action('create'),)}, 'No compute has begun'),
        ({'actions': ()}, 'No compute has begun'),
        (_builds(_BUILD, _BUILD), 'It was tried on several hosts'),
        (_builds(verdict.Build('host1', _STARTED, False)),
         'Its build has not ended'),
        (_builds(verdict.Build(None, _STARTED, True)),
         'Its build has not ended'),
        ({'failed_at': None}, 'It did not fail in its last build'),
        ({'failed_at': _STARTED - datetime.timedelta(seconds=1)},
         'It did not fail in its last build'),
        ({'is_only_try': False}, 'Its compute was allowed to try another'),
        ({'has_volumes': True}, 'It has volumes'),
        ({'is_retained': False}, 'What its owner asked for is not kept'),
        ({'hypervisor': 'ironic'}, 'Its host does not run libvirt'),
        ({'hypervisor': None}, 'Its host does not run libvirt'))
    @ddt.unpack
    def test_any_other_cannot_and_the_reason_says_what_to_do(
            self, changed, reason):
        found = verdict.why_not(dataclasses.replace(_FAILED, **changed))
        self.assertStartsWith(found, reason)

    def assertStartsWith(self, text, start):
        self.assertEqual(start, (text or '')[:len(start)])
