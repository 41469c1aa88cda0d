# SPDX-License-Identifier: Apache-2.0

"""What a newer version of the package writes."""

import fixtures
from oslo_serialization import jsonutils

from cell0_rebuild.move import attempt_record


class NewerRecord(fixtures.Fixture):
    """A newer nova-api or conductor has marked the attempt."""

    def _setUp(self):
        put_on = attempt_record.AttemptRecord.put_on

        def put_more_on(record, instance):
            put_on(record, instance)
            fields = jsonutils.loads(
                instance.system_metadata[attempt_record.KEY])
            instance.system_metadata = dict(
                instance.system_metadata,
                **{attempt_record.KEY: jsonutils.dumps({**fields,
                                                        'newer': 'unknown'})})
        self.useFixture(fixtures.MonkeyPatch(
            'cell0_rebuild.move.attempt_record.AttemptRecord.put_on',
            put_more_on))
