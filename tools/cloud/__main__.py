# SPDX-License-Identifier: Apache-2.0

"""Run a small real cloud on the loopback.

Everything it starts, it stops; nothing else is touched.
"""

import argparse
import os
import shutil
import sys

from openstack import exceptions

from tests.integration import brokers
from tests.integration import processes
from tools.cloud import cloud as clouds
from tools.cloud import contents
from tools.cloud import daemons
from tools.cloud import hypervisor
from tools.cloud import plan as plans
from tools.tables import OUT


def main(arguments):
    """Read the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    plan = plans.Plan.load(plans.FOLDER)
    if options.do is _up:
        plan = _planned(plan, options)
    elif plan is None:
        OUT.print(f'There is no cloud in {plans.FOLDER}.')
        return 0 if options.do is _down else 1
    try:
        options.do(clouds.Cloud(plan, OUT.print), options)
        return 0
    except (processes.ProcessError, clouds.NoSuchService,
            exceptions.SDKException) as error:
        OUT.print(str(error), style='red', markup=False)
        return 1
    except KeyboardInterrupt:
        OUT.print('Interrupted. What was started runs.', style='red')
        return 130


def _parser():
    parser = argparse.ArgumentParser(
        prog='python -m tools.cloud', description=__doc__)
    commands = parser.add_subparsers(required=True, metavar='COMMAND')

    def command(name, function, text):
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(do=function)
        return added

    up = command('up', _up, 'start what is not running as it should')
    up.add_argument('--stock', action='store_true',
                    help='Nova without cell0-rebuild')
    up.add_argument('--api-microversion', metavar='X.Y',
                    help='the option of cell0-rebuild')
    up.add_argument('--show', choices=('error', 'build'), default='error',
                    help='the option of cell0-rebuild-wait')
    up.add_argument('--rebuild', choices=('buried', 'never_launched'),
                    default='buried', help='the same of cell0-rebuild')
    up.add_argument('--libvirt', action='store_true',
                    help='a host more, whose guests run: QEMU without KVM')
    down = command('down', _down, 'stop it')
    down.add_argument('--wipe', action='store_true',
                      help='and delete all that is in it')
    command('status', _status, 'tell what is running')
    add = command(
        'add', lambda cloud, options: cloud.add_computes(
            options.name, options.cell), 'add nova-computes')
    add.add_argument('name', nargs='+')
    add.add_argument('--cell', choices=plans.CELLS, default=plans.CELLS[0])
    for name, act, text in (
            ('remove', clouds.Cloud.remove_compute, 'remove a nova-compute'),
            ('stop', clouds.Cloud.stop, 'stop one service'),
            ('start', clouds.Cloud.start, 'start one service'),
            ('restart', clouds.Cloud.restart, 'restart one service')):
        command(name, lambda cloud, options, act=act: act(
            cloud, options.name), text).add_argument('name')
    return parser


def _planned(plan, options):
    """Return the plan of a cloud that is to be up.

    :param plan: that it has; None if it is new.
    """
    if plan is None:
        plan = plans.Plan.make(plans.FOLDER)
        for name in ('database_url', 'broker_url', 'memcached_url'):
            setattr(plan, name, os.environ.get(
                f'CELL0_REBUILD_CLOUD_{name.upper()}'))
        plan.computes = {'compute1': plans.CELLS[0],
                         'compute2': plans.CELLS[1]}
    if options.libvirt:
        plan.computes[hypervisor.HOST] = plans.CELLS[0]
        plan.guests = [hypervisor.HOST]
    plan.enabled = not options.stock
    plan.api_microversion = options.api_microversion
    plan.show, plan.rebuild = options.show, options.rebuild
    plan.save()
    return plan


def _up(cloud, options):
    _check_packages(cloud.plan)
    cloud.up()
    _say_how_to_use(cloud.plan, contents.write_access(cloud.plan))


def _check_packages(plan):
    wanted = (('mariadb-server', 'mariadbd', plan.database_url),
              ('rabbitmq-server', str(brokers.SCRIPT), plan.broker_url),
              ('memcached', 'memcached', plan.memcached_url))
    path = os.pathsep.join((os.environ['PATH'], '/usr/sbin', '/usr/bin'))
    missing = [package for package, program, url in wanted
               if not url and not shutil.which(program, path=path)]
    if plan.guests:
        missing += hypervisor.missing_packages(path)
        if os.geteuid() != 0:
            raise processes.ProcessError(
                'libvirtd is run in namespaces of its own, as root alone may.')
    if missing:
        raise processes.ProcessError(
            f'The Debian packages {", ".join(missing)} are not installed; '
            f'tools/install_system_packages.sh does that as root.')


def _say_how_to_use(plan, openrc):
    mode = 'with cell0-rebuild' if plan.enabled else 'as released'
    OUT.print(f"""
The cloud is up, Nova {mode}. To use it:

  . {openrc}            # project demo; "admin" for the operator
  openstack server create --flavor tiny --image {contents.IMAGE} \\
      --network {contents.NETWORK} --wait one

Logs are in {plan.folder / 'log'}.""", markup=False)


def _down(cloud, options):
    cloud.down()
    if options.wipe:
        shutil.rmtree(cloud.plan.folder)


def _status(cloud, options):
    for daemon in daemons.Daemon.all(cloud.plan.folder)[::-1]:
        OUT.print(f'{daemon.name:<24} {daemon.recorded["pid"]:>7} '
                  f'{"running" if daemon.running else "ENDED"}')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
