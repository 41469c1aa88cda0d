# SPDX-License-Identifier: Apache-2.0

"""Tell two stories of a rebuild out of cell0 on a whole Nova in one process.

In the first a user asks for the rebuild, in the second a server comes back by
itself.

nova-api, conductor, scheduler, Placement and a compute with the fake driver
run on embedded SQLite, with stand-ins for Neutron, Glance and Cinder. No
server is needed and nothing is left behind. Every claim is checked.
"""

import argparse
import contextlib
import gc
import importlib.metadata
import io
import os
import pathlib
import sys
import time

from demonstration import screen as screens

# The stand-ins and looks into databases are those of the tests.
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1]))

_TAIL = 20


class Telling:
    """One telling of the story."""

    def __init__(self, screen, keep):
        """:param keep: whether to serve Nova until told to stop."""
        self._screen = screen
        self._keep = keep
        self._busy = contextlib.ExitStack()
        self._began = time.monotonic()
        self.log = ''

    def run(self):
        """Start Nova, tell the story, stop Nova; raise what breaks it off."""
        # The requests go to an address that only exists in this process.
        os.environ['no_proxy'] = '*'
        # Nova's services are multi-threaded by default, the fixtures of its
        # tests use eventlet; this decides it, at import.
        os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = '1'
        with self._busy:
            self._busy.enter_context(self._screen.busy('Starting Nova …'))
            from demonstration import deployment
            nova = deployment.Deployment(self._tell)
            try:
                nova.run_story()
            finally:
                self.log = nova.log

    def seconds(self):
        """Return how long it has taken, as text."""
        return f'{time.monotonic() - self._began:.1f} s'

    def _tell(self, nova):
        from demonstration import waiting_story
        from demonstration import story
        self._busy.close()
        self._screen.legend(f'Started in {self.seconds()}.')
        try:
            told = story.Story(self._screen, nova)
            told.tell()
            waiting_story.Story(self._screen, nova).tell()
            if self._keep:
                self._serve(nova, told.added)
        finally:
            self._busy.enter_context(self._screen.busy('Stopping Nova …'))

    def _serve(self, nova, version):
        from demonstration import deployment
        from demonstration import serving
        with serving.served(nova.api_fixture.app()) as url:
            self._screen.log(
                f'Nova answers at {url} until Ctrl-C. To have a server buried '
                f'and rebuilt, with the "id" in the first answer in place of '
                f'SERVICE, and that in the third in place of SERVER:',
                serving.examples(url, version, deployment.IMAGE_ID))
            began = time.monotonic()
            serving.wait_for_interrupt()
            # The visitor's time is not the story's.
            self._began += time.monotonic() - began


def tell(screen, keep):
    """Tell the story and return the exit code.

    :param keep: whether to serve Nova until told to stop.
    """
    screen.title(
        'A server that found no host is rebuilt',
        f'Nova {importlib.metadata.version("nova")} with cell0-rebuild '
        f'{importlib.metadata.version("cell0-rebuild")}, in one process')
    telling = Telling(screen, keep)
    # Nova and its libraries warn and log on both, in their own time.
    noise = io.StringIO()
    try:
        with contextlib.redirect_stdout(noise), \
                contextlib.redirect_stderr(noise):
            telling.run()
    except KeyboardInterrupt:
        screen.verdict('Interrupted.', holds=False)
        return 130
    except Exception as error:
        reason = str(error)
        if not isinstance(error, screens.ClaimFailed):
            reason = f'{type(error).__name__}: {reason}'
        lines = (telling.log or noise.getvalue()).splitlines()
        screen.log('The end of the log of Nova, without requests:', [
            line for line in lines if '.requestlog]' not in line][-_TAIL:])
        screen.verdict(reason, holds=False)
        return 1
    screen.verdict(
        f'All of it holds: {screen.claims} claims checked in '
        f'{telling.seconds()}.')
    return 0


def main(arguments):
    """Read the command line and return the exit code."""
    parser = argparse.ArgumentParser(
        prog='demo.py', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        '--keep', action='store_true',
        help='then serve this Nova over HTTP on the loopback, until Ctrl-C')
    # A terminal may know no sign but letters.
    sys.stdout.reconfigure(errors='replace')
    return tell(screens.Screen(sys.stdout), parser.parse_args(arguments).keep)


if __name__ == '__main__':
    code = main(sys.argv[1:])
    # Python would search all of Nova for garbage before it exits.
    gc.freeze()
    sys.exit(code)
