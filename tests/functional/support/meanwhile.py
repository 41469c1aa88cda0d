# SPDX-License-Identifier: Apache-2.0

"""What is done while something else waits."""

import threading


class Meanwhile(threading.Thread):
    """A thread whose error is not lost."""

    def __init__(self, act):
        super().__init__(daemon=True)
        self._act = act
        self._error = None

    def run(self):
        try:
            self._act()
        except BaseException as error:
            self._error = error

    def finish(self, seconds):
        """Wait until it is done.

        :raises AssertionError: if it has failed, or is not done in time.
        """
        self.join(seconds)
        if self._error is not None or self.is_alive():
            raise AssertionError(
                f'not done meanwhile: {self._error!r}') from self._error
