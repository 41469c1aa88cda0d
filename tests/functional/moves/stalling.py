# SPDX-License-Identifier: Apache-2.0

"""A process that stalls, and what others do meanwhile."""

import threading

from tests.functional.support import meanwhile as meanwhiles

# Long enough to recover and rebuild a server, if nothing has to be waited for.
_STALL = 10


class Stall:
    """Keeps the first call of some that an operator waits for no longer.

    :ivar struck: it has happened.
    """

    def __init__(self, meanwhile):
        self.struck = False
        self._meanwhile = meanwhiles.Meanwhile(meanwhile)
        self._lock = threading.Lock()
        self._over = threading.Event()

    def before(self, function):
        """Return a function that stalls when it is called first."""
        def stalled(*args, **kwargs):
            with self._lock:
                first, self.struck = not self.struck, True
            if not first:
                return function(*args, **kwargs)
            self._meanwhile.start()
            self._meanwhile.join(_STALL)
            try:
                return function(*args, **kwargs)
            finally:
                self._over.set()
        return stalled

    def end(self):
        """Wait until it is over, and all that was done meanwhile.

        :raises AssertionError: if that has failed, or does not end.
        """
        is_over = self._over.wait(60)
        self._meanwhile.finish(60)
        if not is_over:
            raise AssertionError('it stalls still')
