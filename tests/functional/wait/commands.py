# SPDX-License-Identifier: Apache-2.0

"""Runs the commands of ``cell0-rebuild-manage wait`` in this process."""

import contextlib
import io

from oslo_config import cfg

from cell0_rebuild.cmd import manage


def run(*arguments):
    """Run a command; return its exit code and what it says."""
    parsed = cfg.ConfigOpts()
    parsed.register_cli_opt(manage.COMMAND)
    parsed(['wait', *arguments], default_config_files=[])
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(
            output):
        code = parsed.command.run(parsed.command)
    return code, output.getvalue()
