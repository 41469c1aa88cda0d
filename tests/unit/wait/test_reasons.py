# SPDX-License-Identifier: Apache-2.0

import ddt
from neutronclient.common import exceptions as neutron_exc
from nova import exception
from oslo_db import exception as db_exc
from oslo_utils.fixture import uuidsentinel
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.wait.demand import shapes
from cell0_rebuild.wait import values

UUID = uuidsentinel.server


@ddt.ddt
class ReasonsTest(testtools.TestCase):

    def test_a_host_that_is_gone_is_not_named(self):
        reason = shapes.refused(exception.NoValidHost(
            reason='No such host - host: secret node: secret '), UUID)
        self.assertEqual(values.Code.BLOCKED, reason.code)
        self.assertNotIn('secret', str(reason))

    def test_what_else_nova_says_is_told(self):
        self.assertIn('hosts available for tenant', str(shapes.refused(
            exception.RequestFilterFailed(
                reason='No hosts available for tenant'), UUID)))

    @ddt.data(
        neutron_exc.NetworkNotFoundClient(message='secret'),
        neutron_exc.ConnectionFailed(reason='secret'),
        ValueError('secret'))
    def test_what_others_say_is_not_told(self, error):
        reason = shapes.refused(error, UUID)
        self.assertEqual(values.Code.BLOCKED, reason.code)
        self.assertNotIn('secret', str(reason))

    @ddt.data(
        exceptions.NoPlacement(), db_exc.DBConnectionError(),
        db_exc.CantStartEngineError())
    def test_an_outage_is_the_problem_of_no_server(self, error):
        self.assertIs(error, self.assertRaises(
            type(error), shapes.refused, error, UUID))
