"""Which two requests are the same one: all that says what is to be done, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from hypothesis import given, strategies as st
from rest_framework.parsers import FormParser, JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from kb_project.errors import InputError
from workspaces.idempotency import HEADER, LONGEST_KEY, _digest, _key, _parts

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=4), one, max_size=3),
    max_leaves=6,
)
BODIES = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


def request(
    body: Any = None, *, method: str = "post", path: str = "/api/x/", **headers: str
) -> Any:
    made = getattr(APIRequestFactory(), method)(path, body, format="json", headers=headers)
    return Request(made, parsers=[JSONParser(), FormParser(), MultiPartParser()])


def form(**values: Any) -> bytes:
    data: Any = MultiValueDict({name: [value] for name, value in values.items()})
    return b"".join(_parts(data))


@given(BODIES)
def test_the_order_of_names_says_nothing(body: dict[str, Any]):
    turned = dict(reversed(body.items()))

    assert _digest(request(body)) == _digest(request(turned))


@given(BODIES, BODIES)
def test_other_bodies_are_other_requests(one: dict[str, Any], other: dict[str, Any]):
    same = b"".join(_parts(one)) == b"".join(_parts(other))

    assert (_digest(request(one)) == _digest(request(other))) is same


@pytest.mark.parametrize(
    "other",
    [
        {"method": "patch"},
        {"path": "/api/y/"},
        {"path": "/api/x/?dry=1"},
        {"body": {"name": "B"}},
        {"body": {"name": ["A"]}},
        {"body": [{"name": "A"}]},
    ],
)
def test_whatever_says_something_else_is_another_request(other: dict[str, Any]):
    assert _digest(request({"name": "A"})) != _digest(request(**({"body": {"name": "A"}} | other)))


def test_what_says_nothing_of_the_change_makes_no_difference():
    bare = _digest(request({"name": "A"}))

    assert _digest(request({"name": "A"}, **{"User-Agent": "curl", HEADER: "k"})) == bare


def test_fields_of_forms_do_not_run_into_one_another():
    found = {form(a="b", c="d"), form(a="bc", d=""), form(ab="", c="d"), form(a="b\nc\0d")}

    assert len(found) == 4


def test_values_of_one_field_keep_their_order():
    there, back = QueryDict("a=1&a=2"), QueryDict("a=2&a=1")

    assert list(_parts(there)) != list(_parts(back))
    assert list(_parts(QueryDict("a=1&b=2"))) == list(_parts(QueryDict("b=2&a=1")))


def test_a_file_is_its_name_and_what_is_in_it_and_can_be_read_afterwards():
    first = SimpleUploadedFile("a.txt", b"Ada Lind.")

    same = form(file=first) == form(file=SimpleUploadedFile("a.txt", b"Ada Lind."))

    assert same
    assert first.read() == b"Ada Lind."
    assert form(file=first) != form(file=SimpleUploadedFile("b.txt", b"Ada Lind."))
    assert form(file=first) != form(file=SimpleUploadedFile("a.txt", b"Ada Lint."))


@pytest.mark.parametrize("key", ["k", "!", "~", "0" * LONGEST_KEY, 'a"b', "8e03978e-40d5"])
def test_visible_ascii_is_a_key(key: str):
    assert _key(request({}, **{HEADER: key})) == key


def test_no_header_is_no_key():
    assert _key(request({})) is None


@given(st.text(max_size=300))
def test_whatever_is_no_key_is_refused_with_what_one_is(key: str):
    is_key = 0 < len(key) <= LONGEST_KEY and all("!" <= one <= "~" for one in key)
    sent = request({})
    sent.META["HTTP_IDEMPOTENCY_KEY"] = key

    if is_key:
        assert _key(sent) == key
    else:
        with pytest.raises(InputError, match="visible ASCII characters"):
            _key(sent)
