# SPDX-License-Identifier: Apache-2.0

"""Bodies of rebuild requests, made from Nova's own JSON schema."""

import base64
import string
import uuid

from hypothesis import strategies as st

# Of what has no shorter limit, most is short.
_LONG = 300

_ODD = st.sampled_from((
    '', ' ', ' x ', '\x00', '\ud800', '\U0001f600' * 64, 'x' * 256,
    'x' * 70000, 'é\u0301\u202e', '../../etc/passwd', "'; DROP TABLE", '%s%n',
    '<script>', '\r\nX: y', 'null', '0', '-1', 'true', '²', 'a' * 63 + '.b'))
_ATOM = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), _ODD)
JUNK = st.recursive(_ATOM, lambda inner: st.one_of(
    st.lists(inner, max_size=4),
    st.dictionaries(st.text(max_size=5), inner, max_size=4)), max_leaves=6)

_FORMATS = {
    'base64': st.binary(max_size=_LONG).map(
        lambda data: base64.b64encode(data).decode()),
    'ipv4': st.ip_addresses(v=4).map(str),
    'ipv6': st.ip_addresses(v=6).map(str),
    'name': st.text(min_size=1, max_size=_LONG),
    'uuid': st.uuids(version=4).map(str),
}


def bodies(schema, known):
    """Return a strategy: valid bodies and broken ones.

    :param schema: of the request body.
    :param known: {property: values that are there}.
    """
    valid = _Schemas(known).strategy(schema)
    return st.one_of(valid, valid.flatmap(_changed), valid.flatmap(_broken))


class _Schemas:
    """Makes strategies of the keywords that the schema of a rebuild has."""

    def __init__(self, known):
        self._known = known

    def strategy(self, schema):
        if 'enum' in schema:
            return st.sampled_from(schema['enum'])
        for keyword in ('oneOf', 'anyOf'):
            if keyword in schema:
                return st.one_of(map(self.strategy, schema[keyword]))
        kind = schema['type']
        if isinstance(kind, list):
            return st.one_of([
                self.strategy(dict(schema, type=one)) for one in kind])
        return getattr(self, f'_{kind}')(schema)

    def _null(self, _schema):
        return st.none()

    def _string(self, schema):
        least = schema.get('minLength', 0)
        most = min(schema.get('maxLength', _LONG), _LONG)
        if 'format' in schema:
            found = _FORMATS[schema['format']]
        elif 'pattern' in schema:
            found = st.one_of(
                st.from_regex(schema['pattern']),
                st.text(string.ascii_letters, min_size=least, max_size=most))
        else:
            found = st.text(min_size=least, max_size=most)
        return found.filter(lambda text: least <= len(text) <= most)

    def _array(self, schema):
        return st.lists(
            self.strategy(schema['items']),
            min_size=schema.get('minItems', 0),
            max_size=min(schema.get('maxItems', 4), 4),
            unique=schema.get('uniqueItems', False))

    def _object(self, schema):
        named = schema.get('properties', {})
        required = schema.get('required', ())
        properties = {name: self._property(name, inner)
                      for name, inner in named.items()}
        for pattern, inner in schema.get('patternProperties', {}).items():
            return st.dictionaries(
                st.from_regex(pattern, fullmatch=True),
                self.strategy(inner), max_size=4)
        return st.fixed_dictionaries(
            {name: properties[name] for name in required},
            optional={name: inner for name, inner in properties.items()
                      if name not in required})

    def _property(self, name, schema):
        found = self.strategy(schema)
        if name in self._known:
            # Left to chance nothing would ever be found.
            return st.one_of(st.sampled_from(self._known[name]),
                             st.sampled_from(self._known[name]), found)
        return found


def _changed(body):
    """Return a strategy for the body with some of its values broken."""
    names = [*body['rebuild'], 'personality', 'flavorRef', 'networks']
    return st.dictionaries(
        st.sampled_from(names) | st.text(max_size=20), JUNK,
        min_size=1, max_size=2,
    ).map(lambda junk: {'rebuild': {**body['rebuild'], **junk}})


def _broken(body):
    """Return a strategy for the body with its structure broken."""
    inner = body['rebuild']
    without = st.sampled_from(sorted(inner) or ['']).map(lambda name: {
        'rebuild': {key: value for key, value in inner.items()
                    if key != name}})
    return st.one_of(
        without, JUNK.map(lambda junk: {'rebuild': junk}),
        JUNK.map(lambda junk: {**body, 'pause': junk}),
        st.just({'rebuild': {'rebuild': inner}}),
        st.just({'rebuild': [inner]}),
        st.just({'Rebuild': inner}))


def random_id():
    """Return the ID of an image that is not there."""
    return str(uuid.UUID(int=1))
