from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from kb_project.errors import InputError
from retrieval.search.scope import Scope

words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = ["documents", "collections", "tags", "media_types", "dated_from", "dated_to", "author"]
NAMES += ["include", "exclude"]


def tuples_of(values):
    return st.lists(values, max_size=4).map(tuple)


@st.composite
def scopes(draw: st.DrawFn) -> Scope:
    dates = sorted(draw(st.lists(st.dates(), min_size=2, max_size=2)))
    return Scope(
        documents=draw(tuples_of(st.uuids())),
        collections=draw(tuples_of(st.uuids())),
        tags=draw(tuples_of(words)),
        media_types=draw(tuples_of(words)),
        dated_from=draw(st.none() | st.just(dates[0])),
        dated_to=draw(st.none() | st.just(dates[1])),
        include=draw(tuples_of(st.uuids())),
        exclude=draw(tuples_of(st.uuids())),
    )


@given(scopes())
def test_a_scope_comes_back_from_stored_json_as_it_was(scope):
    stored = json.dumps(scope.as_json())

    assert Scope.from_json(json.loads(stored)) == scope


@given(scopes())
def test_what_is_written_is_only_what_is_set(scope):
    written = scope.as_json()

    assert all(written.values())
    assert scope.is_open is (not written)


def outcome(values: dict[str, Any]) -> Scope | InputError:
    try:
        return Scope.from_json(values)
    except InputError as refused:
        return refused


@given(st.dictionaries(st.sampled_from(NAMES), anything, max_size=4))
def test_values_of_any_shape_make_a_scope_or_a_refusal(values):
    found = outcome(values)

    if isinstance(found, Scope):
        assert "author" not in values
        assert Scope.from_json(found.as_json()) == found
    else:
        assert found.code == "invalid_scope"
        assert found.next_step
