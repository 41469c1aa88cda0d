# SPDX-License-Identifier: Apache-2.0

"""Rebuilds that are requested at the same time."""

import threading

import testtools

from cell0_rebuild.wait import parallel
from cell0_rebuild.wait import rebuilds
from cell0_rebuild.wait import shape_cache
from tests.unit.wait import samples

# Who waits for the others in vain fails after so many seconds.
PATIENCE = 20


class Requester:
    """Answers with the server, when all have been asked for."""

    def __init__(self, count):
        self._together = threading.Barrier(count, timeout=PATIENCE)

    def request(self, server_id, project_id, image_id):
        self._together.wait()
        return rebuilds.Answer(
            rebuilds.Outcome.BLOCKED, f'{server_id} {project_id} {image_id}')


class BatchesTest(testtools.TestCase):

    def answers(self, count):
        """Return what is answered to requests for as many servers."""
        return [answer.text for answer in parallel.answers(Requester(count), [
            parallel.Request(samples.server(number), shape_cache.Shape('room'),
                            f'image-{number}')
            for number in range(count)])]

    def test_all_of_a_batch_are_requested_at_the_same_time(self):
        self.assertEqual(
            [f'{samples.server(number).uuid} a image-{number}'
             for number in range(parallel.MOST)], self.answers(parallel.MOST))

    def test_one_is_requested_by_the_thread_that_sweeps(self):
        threads = []

        class Watched(Requester):
            def request(self, *args):
                threads.append(threading.current_thread())
                return super().request(*args)

        parallel.answers(Watched(1), [parallel.Request(
            samples.server(), shape_cache.Shape('room'), None)])
        self.assertEqual([threading.current_thread()], threads)
