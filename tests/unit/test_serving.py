# SPDX-License-Identifier: Apache-2.0

"""How the demonstration serves Nova."""

import requests
import testtools

from tests import releases
from tools.demonstration import serving


def tell_user(environ, start_response):
    """Answer with whom the request is from."""
    start_response('200 OK', [])
    return [environ['HTTP_X_AUTH_USER'].encode(), b' ',
            environ['HTTP_X_ROLES'].encode()]


@releases.needs('server_threads')
class ServingTest(testtools.TestCase):

    def ask(self, **headers):
        session = requests.Session()
        session.trust_env = False
        with serving.served(tell_user) as url:
            return session.get(url, headers=headers, timeout=10).text

    def test_the_token_of_the_operator_is_that_of_the_operator(self):
        self.assertEqual('admin reader,member,admin',
                         self.ask(**{'X-Auth-Token': 'admin'}))

    def test_anybody_else_is_an_ordinary_user(self):
        self.assertEqual('user reader,member', self.ask())
