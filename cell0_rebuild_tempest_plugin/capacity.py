# SPDX-License-Identifier: Apache-2.0

"""A kind of capacity that no host has until a test says so.

A flavor that requires a trait which no host has finds no valid host. The trait
is given to a host later: it is the cloud that changes, not the server, as when
capacity comes back. No other test asks for the trait, so that none of them is
disturbed and they can run at the same time; to disable the compute services
would bury the servers of all of them.
"""

from __future__ import annotations

import json
import time
import typing as ty

from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils
from tempest.lib import exceptions

# Somebody else may change the same resource provider at the same time, and
# what stands in front of Placement may not reach it for a moment.
ATTEMPTS = 10
PASSING = (502, 503)
PAUSE = 1


def insist(call: ty.Any, *args: ty.Any, **kwargs: ty.Any) -> ty.Any:
    """Call a service, again if it could not be reached; return the answer.

    :param call: may be done twice, for the first one may have got there.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return call(*args, **kwargs)
        # The page of a proxy is not of a type that Tempest expects.
        except (exceptions.UnexpectedContentType,
                exceptions.UnexpectedResponseCode) as error:
            if error.resp.status not in PASSING:
                raise
            time.sleep(PAUSE)
    return call(*args, **kwargs)


class Capacity:
    """A flavor and the trait that it requires; both belong to one test."""

    def __init__(self, clients: ty.Any, add_cleanup: ty.Any) -> None:
        """:param clients: the client manager of an administrator.

        :param add_cleanup: is given what undoes each step.
        """
        self._flavors = clients.flavors_client
        self._hypervisors = clients.hypervisor_client
        self._placement = clients.placement_client
        self._providers = clients.resource_providers_client
        self._add_cleanup = add_cleanup
        name = data_utils.rand_name('cell0_rebuild', prefix='CUSTOM')
        self.trait = name.upper().replace('-', '_')

    def make_trait(self) -> None:
        """Make the trait, which no host has yet."""
        self._add_cleanup(insist, test_utils.call_and_ignore_notfound_exc,
                          self._placement.delete_trait, self.trait)
        # That of Tempest sends a body that Placement does not read, and a
        # proxy that has more to write than is read answers 502.
        insist(self._placement.put, f'/traits/{self.trait}', None)

    def make_flavor(self, like: str, extra_specs: dict[str, str]) -> str:
        """Return the ID of a flavor for which no host has capacity.

        :param like: the ID of a flavor that is of the same size.
        :param extra_specs: what it has beside those of that flavor.
        """
        self.make_trait()
        size = self._flavors.show_flavor(like)['flavor']
        flavor: str = self._flavors.create_flavor(
            name=data_utils.rand_name('cell0_rebuild'), ram=size['ram'],
            vcpus=size['vcpus'], disk=size['disk'])['flavor']['id']
        self._add_cleanup(test_utils.call_and_ignore_notfound_exc,
                          self._flavors.delete_flavor, flavor)
        self._flavors.set_flavor_extra_spec(
            flavor, **size.get('extra_specs', {}), **extra_specs,
            **{f'trait:{self.trait}': 'required'})
        return flavor

    def come_back(self) -> str:
        """Give a host the capacity; return its name."""
        # Tempest's schema of the answer is not that of later microversions.
        _, body = self._hypervisors.get('os-hypervisors/detail')
        host = next(
            hypervisor for hypervisor in json.loads(body)['hypervisors']
            if hypervisor['state'] == 'up'
            and hypervisor['status'] == 'enabled')
        self._change(host['id'], {self.trait}, set())
        self._add_cleanup(self._change, host['id'], set(), {self.trait})
        name: str = host['service']['host']
        return name

    def _change(self, provider: str, more: set[str], less: set[str]) -> None:
        for last in (*[False] * (ATTEMPTS - 1), True):
            now = insist(
                self._providers.list_resource_provider_traits, provider)
            try:
                insist(
                    self._providers.update_resource_provider_traits, provider,
                    traits=sorted({*now['traits'], *more} - less),
                    resource_provider_generation=now[
                        'resource_provider_generation'])
            # Placement itself says 409 when the generation has changed before
            # it looks, and 500 when it changes between that and the write.
            except (exceptions.Conflict, exceptions.ServerFault):
                if last:
                    raise
            else:
                return
