# SPDX-License-Identifier: Apache-2.0

"""Cinder fails in two attempts in a row: no server starts from garbage."""

from tests.faults import boundaries
from tests.faults import stories
from tests.faults import writes


class WriteTest(writes.WriteSeries):

    def test_a_server_never_starts_from_what_is_not_known(self):
        # nova-api only asks what is there.
        self.play_all(stories.REIMAGE, writes.FORMER, writes.AGAIN,
                      processes=[boundaries.CONDUCTOR], kinds=['cinder'])
