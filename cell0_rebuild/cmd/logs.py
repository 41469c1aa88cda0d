# SPDX-License-Identifier: Apache-2.0

"""Sets up the log of a command, which must not bury its answer."""

from __future__ import annotations

import argparse
import io
import logging
import sys

from oslo_config import cfg


def set_up(argv: list[str]) -> None:
    """Log what an operator has to read, and all with ``--debug``.

    ``debug`` of nova.conf is meant for services and is not used. Without it,
    only warnings are written beside the answer, because libraries log at INFO.
    If nova.conf names another place, it gets INFO, too. oslo.log would take
    standard output, which has the answer, where nova.conf names none.

    :param argv: of the process. oslo.config does not tell whether an option
        comes from there.
    """
    from oslo_log import log
    for stream in (sys.stdout, sys.stderr):
        # What users write may be more than the terminal can show.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors='backslashreplace')
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('-d', '--debug', action='store_true')
    debug = parser.parse_known_args(argv[1:])[0].debug
    conf = cfg.CONF
    if not debug:
        conf.set_override('debug', False)
    if not (conf.log_file or conf.log_dir or conf.use_journal):
        conf.set_override('use_stderr', True)
    log.setup(conf, 'nova')
    if debug:
        return
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and not isinstance(
                handler, logging.FileHandler):
            # Some libraries have a level of their own.
            handler.setLevel(logging.WARNING)
