# SPDX-License-Identifier: Apache-2.0

"""Tell two stories of a rebuild out of cell0 on a whole Nova in one process.

In the first a user asks for the rebuild, in the second a server comes back by
itself.

nova-api, conductor, scheduler, Placement and a compute with the fake driver
run on embedded SQLite, with stand-ins for Neutron, Glance and Cinder. No
server is needed and nothing is left behind. Every claim is checked.
"""

import contextlib
import gc
import importlib.metadata
import io
import os
import sys
import time

from tools.demo import screen as screens

_TAIL = 20


def main():
    """Tell the stories and return the exit code."""
    # A terminal may know no sign but letters.
    sys.stdout.reconfigure(errors='replace')
    screen, began = screens.Screen(sys.stdout), time.monotonic()
    screen.title(
        'A server that found no host is rebuilt',
        f'Nova {importlib.metadata.version("nova")} with cell0-rebuild '
        f'{importlib.metadata.version("cell0-rebuild")}, in one process')
    # Nova and its libraries warn and log on both, in their own time.
    noise = io.StringIO()
    try:
        with contextlib.redirect_stdout(noise), \
                contextlib.redirect_stderr(noise):
            _tell(screen, began, noise)
    except KeyboardInterrupt:
        screen.verdict('Interrupted.', holds=False)
        return 130
    except Exception as error:
        reason = str(error)
        if not isinstance(error, screens.ClaimFailed):
            reason = f'{type(error).__name__}: {reason}'
        screen.log('The end of the log of Nova, without requests:', [
            line for line in noise.getvalue().splitlines()
            if '.requestlog]' not in line][-_TAIL:])
        screen.verdict(reason, holds=False)
        return 1
    screen.verdict(f'All of it holds: {screen.claims} claims checked in '
                   f'{_seconds(began)}.')
    return 0


def _tell(screen, began, log):
    """Start Nova, tell, stop Nova.

    :param log: is written what Nova logs.
    """
    screen.busy('Starting Nova …')
    # The requests go to an address that only exists in this process.
    os.environ['no_proxy'] = '*'
    # Nova's services are multi-threaded by default, the fixtures of its tests
    # use eventlet; this decides it, at import.
    os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = '1'
    from tools.demo import deployment
    from tools.demo import story
    from tools.demo import waiting

    def tell(nova):
        screen.legend(f'Started in {_seconds(began)}.')
        for each in (story.Story, waiting.Story):
            each(screen, nova).tell()

    nova = deployment.Deployment(tell, lambda: screen.busy('Stopping Nova …'))
    nova.run_story(log)


def _seconds(began):
    return f'{time.monotonic() - began:.1f} s'


if __name__ == '__main__':
    code = main()
    # Python would search all of Nova for garbage before it exits.
    gc.freeze()
    sys.exit(code)
