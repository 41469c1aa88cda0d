# SPDX-License-Identifier: Apache-2.0

"""Ask nova-api to rebuild a server, as its owner would.

A token is scoped to the project of the server: policy, quota and locks apply
to it as to any member of the project.
"""

from __future__ import annotations

import functools
import typing as ty

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import loading

from cell0_rebuild.api import microversion_range
from cell0_rebuild import exceptions
from cell0_rebuild.wait import options
from cell0_rebuild.wait import values

if ty.TYPE_CHECKING:
    from keystoneauth1 import plugin as ks_plugin
    from oslo_config import cfg
    import requests

# No more projects than that keep a token.
PROJECTS = 1000

# What else a token can be scoped to. The options may name one of them, as
# those of other services do.
_OTHER_SCOPES = (
    'project_name', 'project_domain_id', 'project_domain_name', 'domain_id',
    'domain_name', 'system_scope', 'trust_id')

# What an API, or what stands before it, answers when it has not looked at the
# request. 406 is that of a nova-api without the package.
_AWAY = (406, 429, 502, 503, 504)

# From it on nova-api shows a server also if its cell is down.
_WITHOUT_CELL = '2.69'

# What nova-api says of a server that somebody else has changed meanwhile.
_RACES = ('while it is in', 'by another request at the same time',
          'has not ended')
# What it says where another service, which it names, does not answer.
_LATER = 'ry again later'


class WrongOptions(Exception):
    """The service cannot get tokens with its options; the text says why."""


class RebuildClient:
    """Asks for rebuilds, in the projects of the servers."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Read the options.

        :param conf: in which those of the service are registered.
        :raises WrongOptions: if they make no plugin that a project can be
            given to.
        """
        self._conf, self._group = conf, options.GROUP.name
        self._session = loading.load_session_from_conf_options(
            conf, self._group)
        self._unscoped = self._plugin(None)
        # It holds the plugin of the project, and so its token.
        self._nova = functools.lru_cache(PROJECTS)(self._nova_of)

    def request(
        self, server_id: str, project_id: str, image_id: str | None
    ) -> values.Answer:
        """Ask for the rebuild of a server that is to change in nothing.

        :param project_id: of the server.
        :param image_id: that the server has. Nova wants it where the package
            adds no microversion.
        """
        number = microversion_range.added()
        body = {} if number else {'imageRef': image_id}
        number = number or self._conf.cell0_rebuild.api_microversion
        nova = self._nova(project_id)
        outcome = values.Outcome.NO_KEYSTONE
        try:
            nova.get_token()
            outcome = values.Outcome.AWAY
            answer = nova.post(
                f'/servers/{server_id}/action', json={'rebuild': body},
                microversion=number, raise_exc=False)
        except ks_exc.Unauthorized as error:
            return self._unauthorized(error)
        except (ks_exc.ClientException, OSError) as error:
            return _failed(error, outcome)
        return values.Answer(_outcome(answer), _text(answer))

    def check(
        self, failed: values.Answer, accepted: values.Waiting | None
    ) -> None:
        """Check that nova-api and Keystone answer others.

        Only silence and errors of their own are an outage.

        :param failed: the answer to a request that failed.
        :param accepted: the server whose rebuild was accepted last, of which
            nova-api is asked then, or None.
        :raises NoApi: if they do not.
        """
        about = failed.outcome.value
        if failed.outcome is values.Outcome.BAD_CREDENTIALS:
            raise exceptions.NoApi(failed.text, about)
        try:
            if failed.outcome is values.Outcome.NO_KEYSTONE:
                self._unscoped.invalidate()
                self._unscoped.get_access(self._session)
            elif accepted is not None:
                answer = self._nova(accepted.project_id).get(
                    f'/servers/{accepted.uuid}', raise_exc=False,
                    microversion=_WITHOUT_CELL)
                if answer.status_code >= 500:
                    raise exceptions.NoApi(_text(answer), about)
        except ks_exc.HttpError as error:
            if error.http_status >= 500:
                raise exceptions.NoApi(str(error), about) from error
        except (ks_exc.ClientException, OSError) as error:
            raise exceptions.NoApi(str(error), about) from error

    def _nova_of(self, project_id: str) -> adapter.Adapter:
        return loading.load_adapter_from_conf_options(
            self._conf, self._group, session=self._session,
            auth=self._plugin(project_id))

    def _plugin(self, project_id: str | None) -> ks_plugin.BaseAuthPlugin:
        scope = {**dict.fromkeys(_OTHER_SCOPES), 'project_id': project_id}
        try:
            plugin = loading.load_auth_from_conf_options(
                self._conf, self._group, **scope)
        except (ks_exc.AuthPluginException, TypeError) as error:
            raise WrongOptions(
                f'[{self._group}] auth_type and what belongs to it make no '
                f'token of a project: {error}') from error
        if plugin is None:
            raise WrongOptions(f'[{self._group}] auth_type is not set')
        return plugin

    def _unauthorized(self, error: Exception) -> values.Answer:
        """Tell a missing role from a wrong password.

        Keystone answers both with 401 and the same words. A token without a
        scope needs no role.
        """
        try:
            self._unscoped.invalidate()
            self._unscoped.get_access(self._session)
        except ks_exc.Unauthorized:
            return values.Answer(
                values.Outcome.BAD_CREDENTIALS,
                f'Keystone does not know the user or the password of '
                f'[{self._group}], or it was changed: {error}')
        except (ks_exc.ClientException, OSError) as failure:
            return _failed(failure, values.Outcome.NO_KEYSTONE)
        return values.Answer(values.Outcome.NO_ROLE, str(error))


def _failed(error: Exception, usual: values.Outcome) -> values.Answer:
    if isinstance(error, ks_exc.Forbidden):
        return values.Answer(values.Outcome.NO_ROLE, str(error))
    if isinstance(error, ks_exc.EndpointNotFound):
        return values.Answer(values.Outcome.NO_ENDPOINT, str(error))
    return values.Answer(usual, str(error))


def _outcome(answer: requests.Response) -> values.Outcome:
    code, text = answer.status_code, _text(answer)
    if code == 202:
        return values.Outcome.ACCEPTED
    if code == 401 or (code == 403 and text.startswith('Policy ')):
        return values.Outcome.NO_ROLE
    if code in (403, 413):
        return values.Outcome.OVER_QUOTA
    if code == 404:
        return values.Outcome.GONE
    if code == 409 and any(race in text for race in _RACES):
        return values.Outcome.BUSY
    if code == 409 and _LATER in text:
        return values.Outcome.LATER
    if code in (400, 409):
        return values.Outcome.BLOCKED
    return values.Outcome.AWAY if code in _AWAY else values.Outcome.FAILED


def _text(answer: requests.Response) -> str:
    """Return the message of a refusal, or what there is in its place."""
    if answer.status_code == 202:
        return ''
    try:
        [fault] = answer.json().values()
        return str(fault['message'])
    except (ValueError, LookupError, TypeError, AttributeError):
        return f'{answer.status_code} {answer.reason}'
