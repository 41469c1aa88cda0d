# SPDX-License-Identifier: Apache-2.0

import ddt
from neutronclient.common import exceptions as neutron_exc
from nova import exception
from oslo_db import exception as db_exc
from oslo_utils.fixture import uuidsentinel
import testtools

from cell0_rebuild import exceptions
from cell0_rebuild.wait import reasons

UUID = uuidsentinel.server


@ddt.ddt
class ReasonsTest(testtools.TestCase):

    @ddt.data(*reasons.Code)
    def test_every_code_has_a_sentence_of_its_own(self, code):
        text = str(reasons.Reason(code))
        self.assertRegex(text, r'^[A-Z][a-z].*\.$')
        self.assertEqual(1, [
            str(reasons.Reason(one)) for one in reasons.Code].count(text))

    @ddt.data(*reasons.Code)
    def test_no_usual_text_names_anything(self, code):
        # A name is filled in, or has capitals, digits or punctuation.
        for sentence in str(reasons.Reason(code)).split('. '):
            self.assertRegex(sentence, r"^[A-Z][a-z]*[ a-z,;:]*\.?$")

    @ddt.data(*reasons.Code)
    def test_an_owner_can_read_all_of_it_in_the_event_list(self, code):
        # The column of the message has so many characters.
        self.assertLessEqual(
            len(f'{code.value}: {reasons.Reason(code)}'), 255)
        self.assertRegex(code.value, '^[a-z-]+$')

    def test_a_text_of_its_own_comes_before_the_usual_one(self):
        self.assertEqual('It is.', str(
            reasons.Reason(reasons.Code.BLOCKED, 'It is.')))

    def test_a_host_that_is_gone_is_not_named(self):
        reason = reasons.refused(exception.NoValidHost(
            reason='No such host - host: secret node: secret '), UUID)
        self.assertEqual(reasons.Code.BLOCKED, reason.code)
        self.assertNotIn('secret', str(reason))

    def test_what_else_nova_says_is_told(self):
        self.assertIn('hosts available for tenant', str(reasons.refused(
            exception.RequestFilterFailed(
                reason='No hosts available for tenant'), UUID)))

    @ddt.data(
        neutron_exc.NetworkNotFoundClient(message='secret'),
        neutron_exc.ConnectionFailed(reason='secret'),
        ValueError('secret'))
    def test_what_others_say_is_not_told(self, error):
        reason = reasons.refused(error, UUID)
        self.assertEqual(reasons.Code.BLOCKED, reason.code)
        self.assertNotIn('secret', str(reason))

    @ddt.data(
        exceptions.NoPlacement(), db_exc.DBConnectionError(),
        db_exc.CantStartEngineError())
    def test_an_outage_is_the_problem_of_no_server(self, error):
        self.assertIs(error, self.assertRaises(
            type(error), reasons.refused, error, UUID))
