# SPDX-License-Identifier: Apache-2.0

"""Start programs, wait until they are ready, and leave none behind."""

import atexit
import contextlib
import itertools
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys

import tenacity

BIN = pathlib.Path(sys.executable).parent

# In the environment of everything that is started here, and of what that
# starts in turn, so that nothing else is ever killed.
MARK = 'CELL0_REBUILD_INTEGRATION'

# Variables of the caller that would change what is tested. Nova compiles
# itself anew in every process if it may not write byte code.
_UNWANTED = ('PYTHONDONTWRITEBYTECODE', 'http_proxy', 'https_proxy',
             'HTTP_PROXY', 'HTTPS_PROXY')


class ProcessError(Exception):
    """A program ended, or was not ready in time."""


def free_ports(count):
    """Return distinct TCP ports of the loopback that nobody uses.

    They are below those that the kernel gives to outgoing connections, so
    none of these takes one before the program that it is meant for.
    """
    candidates = random.sample(range(20000, 32000), 12000)
    return list(itertools.islice(filter(_is_free, candidates), count))


def _is_free(port):
    with socket.socket() as server:
        try:
            server.bind(('127.0.0.1', port))
        except OSError:
            return False
        return True


def listens(port):
    """Tell whether somebody listens on a port of the loopback."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(('127.0.0.1', port)) == 0


def poll(condition, what, seconds=60):
    """Wait until the condition is true, and return what it returned.

    :param what: ends the sentence "... did not happen in time".
    """
    def give_up(state):
        raise ProcessError(f'{what} did not happen within {seconds} s')

    return tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda found: not found),
        stop=tenacity.stop_after_delay(seconds),
        wait=tenacity.wait_fixed(0.1),
        retry_error_callback=give_up)(condition)


def clean_environment(home, **more):
    """Return the environment of a program that the caller's must not change.

    :param home: its home directory.
    :param more: further variables.
    """
    inherited = {key: value for key, value in os.environ.items()
                 if key not in _UNWANTED and not key.startswith('OS_')}
    path = os.pathsep.join(
        [str(BIN), '/usr/sbin', '/usr/bin', '/sbin', '/bin'])
    return {**inherited, 'PATH': path, 'HOME': str(home),
            'LC_ALL': 'C.UTF-8', 'PYTHONUNBUFFERED': '1',
            **{key: str(value) for key, value in more.items()}}


def sweep(folder):
    """Kill what was started with a folder, even if it is a daemon by now."""
    mark = f'{MARK}={folder}'.encode()
    for entry in pathlib.Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            if mark in (entry / 'environ').read_bytes().split(b'\0'):
                os.kill(int(entry.name), signal.SIGKILL)


class Process:
    """A program in a process group of its own, with a log file."""

    def __init__(self, name, command, log, environment):
        self.name = name
        self._command = [str(part) for part in command]
        self._log = pathlib.Path(log)
        self._environment = environment
        self._popen = None

    def start(self):
        """Start it; it dies with this thread, however that ends."""
        with self._log.open('ab') as log:
            self._popen = subprocess.Popen(
                ['setpriv', '--pdeathsig', 'KILL', *self._command],
                env=self._environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True)
        return self

    @property
    def ended(self):
        """Whether it is not running any more."""
        return self._popen.poll() is not None

    @property
    def pid(self):
        """Its ID, which is that of its process group, too."""
        return self._popen.pid

    @property
    def output(self):
        """All that it has printed and logged."""
        return self._log.read_text(errors='replace')

    def wait_until(self, condition, what, seconds=60):
        """Wait until it is ready.

        :raises ProcessError: if it ends first; the end of its log is shown.
        """
        def ready_or_ended():
            return (condition() and 'ready') or (self.ended and 'ended')

        try:
            if poll(ready_or_ended, what, seconds) == 'ended':
                raise ProcessError(
                    f'it ended with code {self._popen.returncode}')
        except ProcessError as error:
            raise ProcessError(
                f'{self.name}: {error}\n{self.output[-5000:]}') from None
        return self

    def wait_for_line(self, text, seconds=60):
        """Wait until it has logged a text."""
        return self.wait_until(
            lambda: text in self.output, f'"{text}" in its log', seconds)

    def wait_for_port(self, port, seconds=60):
        """Wait until it listens on a port."""
        return self.wait_until(
            lambda: listens(port), f'listening on port {port}', seconds)

    def finish(self, seconds=120):
        """Wait until it has ended by itself with code 0."""
        code = self.code(seconds)
        if code:
            raise ProcessError(f'{self.name} ended with code {code}\n'
                               f'{self.output[-5000:]}')

    def code(self, seconds=120):
        """Wait until it has ended by itself and return its exit code."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return f'none within {seconds} s'

    def signal(self, number):
        """Send a signal, as an operator does: not to its workers."""
        self._popen.send_signal(number)

    def signal_all(self, number):
        """Send a signal to the whole process group."""
        os.killpg(self._popen.pid, number)

    def kill(self):
        """Kill the whole process group at once, as a crash does."""
        if not self.ended:
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()


class Processes:
    """Starts programs with a folder of their own, and ends them all."""

    def __init__(self, folder):
        """:param folder: marks the programs; logs go to its ``log``."""
        self._folder = pathlib.Path(folder)
        self._started = []
        (self._folder / 'home').mkdir(parents=True, exist_ok=True)
        (self._folder / 'log').mkdir(exist_ok=True)
        atexit.register(self.end)

    def start(self, name, *command, **environment):
        """Start a program."""
        process = Process(
            name, command, self._folder / 'log' / f'{name}.log',
            clean_environment(self._folder / 'home', **{
                MARK: self._folder, **environment}))
        self._started.append(process)
        return process.start()

    def groups(self):
        """Return the names of those that run by their process group."""
        return {process.pid: process.name for process in self._started
                if not process.ended}

    def end(self):
        """Kill whatever still runs; doing it again is harmless."""
        while self._started:
            self._started.pop().kill()
        sweep(self._folder)
