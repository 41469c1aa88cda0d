# SPDX-License-Identifier: Apache-2.0

"""Programs that outlive whoever starts them, and can be found again.

A process is known by its ID together with the time of its start: an ID alone
may belong to somebody else by now.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess

from tests.integration import processes

_BOOT = pathlib.Path('/proc/sys/kernel/random/boot_id')


def started(pid):
    """Return when a process was started, None if there is none.

    The time is in clock ticks and is that of one boot of the machine. A
    process that has ended and that nobody has waited for is none.
    """
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name, in brackets, may have brackets and spaces in it.
    fields = stat.rpartition(')')[2].split()
    return None if fields[0] in 'ZX' else int(fields[19])


def _session(pid):
    with contextlib.suppress(ProcessLookupError):
        return os.getsid(pid)


class Daemon:
    """A program in a session of its own, with a record and a log."""

    def __init__(self, folder, name):
        """:param folder: of the cloud."""
        self.name = name
        self._record = folder / 'run' / f'{name}.json'
        self._home = folder / 'home' / name
        self.log = folder / 'log' / f'{name}.log'

    @classmethod
    def all(cls, folder):
        """Return those that were started and not stopped, newest first."""
        records = sorted((folder / 'run').glob('*.json'), reverse=True,
                         key=lambda path: path.stat().st_mtime)
        return [cls(folder, path.stem) for path in records]

    def start(self, command, digest, **environment):
        """Start it.

        :param digest: of all that it is started with.
        """
        for path in (self._record.parent, self._home, self.log.parent):
            path.mkdir(parents=True, exist_ok=True)
        with self.log.open('ab') as log:
            process = subprocess.Popen(
                [str(part) for part in command], cwd=self._home,
                env=processes.clean_environment(self._home, **environment),
                stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True)
        self._record.write_text(json.dumps({
            'pid': process.pid, 'started': started(process.pid),
            'boot': _BOOT.read_text(), 'digest': digest}))

    @property
    def recorded(self):
        """What was noted when it was started; empty if it was not."""
        try:
            return json.loads(self._record.read_text())
        except FileNotFoundError:
            return {}

    @property
    def running(self):
        """Whether the process that was started is still there."""
        noted = self.recorded
        return (noted.get('boot') == _BOOT.read_text()
                and noted['started'] is not None
                and started(noted['pid']) == noted['started'])

    def members(self):
        """Return the IDs of all its processes, also if the first has ended.

        As long as a session has a process, the kernel gives its ID to no
        other; what shows that it is not somebody else's later session is
        that it works in the folder of the daemon.
        """
        noted = self.recorded
        if noted.get('boot') != _BOOT.read_text():
            return []
        if not self.running and started(noted['pid']) is not None:
            return []
        found = [int(entry.name)
                 for entry in pathlib.Path('/proc').glob('[0-9]*')]
        return [pid for pid in found if _session(pid) == noted['pid'] and (
            self.running or self._is_at_home(pid))]

    def stop(self, seconds=20):
        """Have it end, by force if it does not, and forget it."""
        if self.running:
            os.kill(self.recorded['pid'], signal.SIGTERM)
            with contextlib.suppress(processes.ProcessError):
                processes.poll(lambda: not self.running, 'its end', seconds)
        for pid in self.members():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        processes.poll(lambda: not [
            pid for pid in self.members() if started(pid) is not None],
            f'the end of {self.name}')
        self._record.unlink(missing_ok=True)

    def _is_at_home(self, pid):
        try:
            return pathlib.Path(os.readlink(f'/proc/{pid}/cwd')
                                ).is_relative_to(self._home)
        except OSError:
            return False
