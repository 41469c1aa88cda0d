# SPDX-License-Identifier: Apache-2.0

"""Rebuilds that are requested at the same time."""

import threading
import time
from unittest import mock

import fixtures
from oslo_config import cfg
import testtools

from cell0_rebuild.wait.census import operator_decisions
from cell0_rebuild.wait.decision import batch
from cell0_rebuild.wait.effects import hands
from cell0_rebuild.wait.effects import rebuilds
from cell0_rebuild.wait import options
from cell0_rebuild.wait import texts
from cell0_rebuild.wait import values
from tests.unit.wait import samples

PATIENCE = 20
ACCEPTED = values.Answer(values.Outcome.ACCEPTED)


class Client:
    """Answers with the server, when all have been asked for."""

    def __init__(self, count):
        self._together = threading.Barrier(count, timeout=PATIENCE)
        self.threads = []

    def request(self, server_id, project_id, image_id):
        self.threads.append(threading.current_thread())
        self._together.wait()
        return values.Answer(
            values.Outcome.BLOCKED, f'{server_id} {project_id} {image_id}')


class HandsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.decision = operator_decisions.Decision()
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.census.operator_decisions.current',
            lambda context, uuid: self.decision))
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.wait.census.images.finder',
            lambda context, uuid: lambda: self.image(uuid)))
        self.conf = cfg.ConfigOpts()
        options.register(self.conf)
        self.conf([], default_config_files=[], default_config_dirs=[])

    def image(self, uuid):
        """Return the image of a server."""
        return f'image-{uuid}'

    def request(self, servers, client):
        """Return what is answered to requests."""
        return hands.Hands(None, self.conf, client).request(servers)

    def test_all_of_a_batch_are_requested_at_the_same_time(self):
        servers = [samples.server(number) for number in range(batch.MOST)]
        self.assertEqual(
            [f'{one.uuid} a image-{one.uuid}' for one in servers],
            [answer.text for answer in self.request(
                servers, Client(batch.MOST))])

    def test_who_waits_for_an_answer_keeps_no_other_waiting(self):
        slow, other = samples.server(1, 'slow'), samples.server(2)
        goes_on = threading.Event()
        self.addCleanup(goes_on.set)

        def request(server_id, project_id, image_id):
            if project_id == 'slow':
                goes_on.wait(PATIENCE)
            return ACCEPTED
        client = mock.Mock(spec=rebuilds.RebuildClient, request=request)
        found = hands.Hands(None, self.conf, client, patience=0.2)
        self.assertEqual(
            [values.Outcome.NOT_YET, values.Outcome.ACCEPTED],
            [answer.outcome for answer in found.request([slow, other])])
        self.assertEqual({}, found.answered())
        goes_on.set()
        while not (answers := found.answered()):
            time.sleep(0.01)
        self.assertEqual({slow.uuid: ACCEPTED}, answers)
        self.assertEqual({}, found.answered())

    def test_a_volume_that_is_not_told_of_keeps_no_other_waiting(self):
        slow, other = samples.server(1, 'slow'), samples.server(2)
        goes_on = threading.Event()
        self.addCleanup(goes_on.set)

        def image(uuid):
            if uuid == slow.uuid:
                goes_on.wait(PATIENCE)
                return texts.UNKNOWN_IMAGE
            return 'image'
        self.image = image
        client = mock.Mock(spec=rebuilds.RebuildClient)
        client.request.return_value = ACCEPTED
        found = hands.Hands(None, self.conf, client, patience=0.2)
        self.assertEqual(
            [values.Outcome.NOT_YET, values.Outcome.ACCEPTED],
            [answer.outcome for answer in found.request([slow, other])])
        goes_on.set()
        while not (answers := found.answered()):
            time.sleep(0.01)
        self.assertEqual(
            {slow.uuid: values.Answer(
                values.Outcome.NOT_ASKED, reason=texts.UNKNOWN_IMAGE)},
            answers)
        client.request.assert_called_once_with(other.uuid, 'a', 'image')

    def test_nothing_is_requested_after_a_stop(self):
        stop = threading.Event()
        self.image = lambda uuid: stop.set()
        client = mock.Mock(spec=rebuilds.RebuildClient)
        [answer] = hands.Hands(None, self.conf, client).request(
            [samples.server()], stop.is_set)
        self.assertIs(values.Outcome.NOT_ASKED, answer.outcome)
        self.assertFalse(client.request.called)

    def test_who_took_long_is_not_waited_for_until_it_is_fast(self):
        server, takes = samples.server(1), []
        client = mock.Mock(spec=rebuilds.RebuildClient)
        client.request.side_effect = lambda *args: (
            time.sleep(takes.pop()), ACCEPTED)[1]
        found = hands.Hands(None, self.conf, client, patience=1.0)

        def request(seconds):
            """Return what is answered at once, and whether it took long."""
            takes.append(seconds)
            begun = time.monotonic()
            [answer] = found.request([server])
            waited = time.monotonic() - begun > 0.4
            while answer.outcome is values.Outcome.NOT_YET and (
                    not found.answered()):
                time.sleep(0.01)
            return answer.outcome, waited
        self.assertEqual(
            [(values.Outcome.NOT_YET, True), (values.Outcome.NOT_YET, False),
             (values.Outcome.NOT_YET, False), (values.Outcome.ACCEPTED, True)],
            [request(seconds) for seconds in (1.2, 1.2, 0.5, 0.5)])

    def test_who_is_held_is_not_asked_for(self):
        client = mock.Mock(spec=rebuilds.RebuildClient)
        self.decision = operator_decisions.Decision(held=True)
        [answer] = self.request([samples.server()], client)
        self.assertEqual(
            (values.Outcome.NOT_ASKED, values.Code.HELD),
            (answer.outcome, answer.reason.code))
        self.assertFalse(client.request.called)
