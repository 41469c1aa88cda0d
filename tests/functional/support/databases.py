# SPDX-License-Identifier: Apache-2.0

"""Look into every table of every database of the test."""

import contextlib

from nova import context as nova_context
from nova.db.api import api as api_db_api
from nova.db.api import models as api_models
from nova.db.main import api as main_db_api
from nova.db.main import models as main_models
from nova import exception
from nova import objects
from oslo_db import exception as db_exc
from oslo_serialization import jsonutils
import sqlalchemy as sa

from cell0_rebuild import cells

# What a service writes by itself while a test runs.
_BY_THEMSELVES = {'services', 'compute_nodes'}


def dump(value=None):
    """Return all rows as {database: {table: [row, ...]}}.

    :param value: leave out rows that have it in no column of text.
    """
    return {name: _tables(
        engine, api_models.BASE if name == 'api' else main_models.BASE, value)
        for name, engine in engines().items()}


def engines():
    """Return {name of a database: its engine}."""
    context = nova_context.get_admin_context()
    found = {'api': api_db_api.context_manager.reader.get_engine()}
    for cell in objects.CellMappingList.get_all(context):
        targeted = cells.targeted(context, cell)
        found[cell.name] = main_db_api.get_context_manager(
            targeted).reader.get_engine()
    return found


def down(name, error=None):
    """Return a context in which a database takes no transaction.

    It tells who has tried.

    :param name: as in :func:`engines`.
    :param error: what it raises; by default, it is away.
    """
    return _down(engines()[name], error or db_exc.DBConnectionError(
        Exception('down')))


@contextlib.contextmanager
def _down(engine, error):
    tries = []

    def be_down(connection):
        tries.append(connection)
        raise error
    sa.event.listen(engine, 'begin', be_down)
    try:
        yield tries
    finally:
        sa.event.remove(engine, 'begin', be_down)


def _tables(engine, base, value):
    found = {}
    with engine.connect() as connection:
        for table in base.metadata.sorted_tables:
            if table.name not in _BY_THEMSELVES:
                found[table.name] = [
                    dict(row._mapping)
                    for row in connection.execute(_rows(table, value))]
    return found


def _rows(table, value):
    if value is None:
        return table.select()
    return table.select().where(sa.or_(sa.false(), *[
        column == value for column in table.columns
        if isinstance(column.type, sa.String)]))


def update(database, model, server_id, **values):
    """Write columns of the row of a server, as no service would."""
    key = 'uuid' if hasattr(model, 'uuid') else 'instance_uuid'
    with engines()[database].begin() as connection:
        connection.execute(
            model.__table__.update().where(
                getattr(model, key) == server_id).values(**values))


def store(build_request):
    """Write a build request as it is, whole, as a nova-api does."""
    update('api', api_models.BuildRequest, build_request.instance_uuid,
           instance=jsonutils.dumps(
               build_request.instance.obj_to_primitive()))


def blob(server_id):
    """Return what is stored of the RequestSpec of a server."""
    [blob] = [row['spec'] for row in dump()['api']['request_specs']
              if row['instance_uuid'] == server_id]
    return blob


def forget(server_id):
    """Remove what is kept of a server with its RequestSpec."""
    values = jsonutils.loads(blob(server_id))
    values.pop('cell0_rebuild', None)
    update('api', api_models.RequestSpec, server_id,
           spec=jsonutils.dumps(values))


def leave_burial(server_id):
    """Leave a server as a conductor does that dies at the end of its burial.

    It has the build request of its create still.
    """
    instance = in_cell0(server_id)
    objects.BuildRequest(
        nova_context.get_admin_context(), instance=instance,
        instance_uuid=server_id, project_id=instance.project_id,
        block_device_mappings=objects.BlockDeviceMappingList(objects=[]),
        tags=objects.TagList(objects=[])).create()


def end_burial(server_id):
    """Do what operators do if the conductor has died at the end of it."""
    model = api_models.BuildRequest
    with engines()['api'].begin() as connection:
        connection.execute(sa.delete(model.__table__).where(
            model.instance_uuid == server_id))


def differences(before, after):
    """Return a readable list of what differs between two dumps."""
    found = []
    for database, tables in before.items():
        for name, rows in tables.items():
            others = after[database][name]
            if len(rows) != len(others):
                found.append(f'{database}.{name}: {len(rows)} rows became '
                             f'{len(others)}')
            found += [
                f'{database}.{name}.{column}: {value} became {other[column]}'
                for row, other in zip(rows, others)
                for column, value in row.items() if value != other[column]]
    return found


def differences_but_age(before, after):
    """Return the same without the age of a server that was on its way."""
    age = ('api.instance_mappings.updated_at:',
           'api.request_specs.updated_at:')
    return [line for line in differences(before, after)
            if not line.startswith(age)]


def rows_with(value, tables):
    """Return the names of the tables that have the value in any column."""
    return sorted(
        name for name, rows in tables.items()
        if any(value in row.values() for row in rows))


def cell_of(server_id):
    """Return the name of the cell that a server is mapped to, or None."""
    mapping = objects.InstanceMapping.get_by_instance_uuid(
        nova_context.get_admin_context(), server_id)
    return mapping.cell_mapping.name if mapping.cell_mapping else None


def has_build_request(server_id):
    """Return whether a server is still, or again, on its way."""
    try:
        objects.BuildRequest.get_by_instance_uuid(
            nova_context.get_admin_context(), server_id)
    except exception.BuildRequestNotFound:
        return False
    return True


def spec_of(server_id):
    """Return the RequestSpec of a server as it is stored."""
    return objects.RequestSpec.get_by_instance_uuid(
        nova_context.get_admin_context(), server_id)


def hidden(server_id):
    """Return whether the row in cell0 is hidden, as a list of its rows."""
    return [is_hidden for is_hidden, _ in shown(server_id)]


def shown(server_id):
    """Return (hidden, task_state) of the row in cell0, as a list of its rows.

    It is shown with a task_state until the burial has ended.
    """
    return [(bool(row['hidden']), row['task_state'])
            for row in dump()['cell0']['instances']
            if row['uuid'] == server_id]


def in_cell0(server_id):
    """Return the instance in cell0, as a request that read it has it."""
    context = nova_context.get_admin_context()
    return objects.Instance.get_by_uuid(
        cells.in_cell0(context), server_id)
