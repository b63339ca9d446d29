from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from retrieval.forms import LONGEST, is_id, wanted_of
from retrieval.search.modes import DEFAULT_MODE, MODES
from retrieval.search.scope import Scope


def sent(**values: str | list[str]) -> QueryDict:
    query = QueryDict(mutable=True)
    for name, value in values.items():
        query.setlist(name, [value] if isinstance(value, str) else value)
    return query


def test_a_question_is_read_with_how_and_where_to_look():
    shelf = uuid4()

    wanted = wanted_of(sent(q=" Who? ", mode="local", collections=[str(shelf)]), "q")

    assert (wanted.text, wanted.mode) == ("Who?", "local")
    assert wanted.scope == Scope(collections=(shelf,))


def test_what_is_not_sent_is_the_default():
    wanted = wanted_of(sent(), "q")

    assert (wanted.text, wanted.mode, wanted.collections) == ("", DEFAULT_MODE, ())
    assert wanted.scope.is_open


def test_all_documents_as_a_choice_is_an_open_scope():
    assert wanted_of(sent(collections=[""]), "q").scope.is_open


def test_what_is_no_collection_is_left_out_and_the_others_stay():
    shelf = str(uuid4())

    assert wanted_of(sent(collections=["no-id", shelf, "7"]), "q").collections == (shelf,)


def test_a_text_of_any_length_is_cut_to_what_can_be_asked():
    assert len(wanted_of(sent(q="x" * (LONGEST * 3)), "q").text) == LONGEST


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_whatever_is_sent_becomes_something_that_can_be_asked(text, mode, collections):
    wanted = wanted_of(sent(q=text, mode=mode, collections=collections), "q")

    assert "\0" not in wanted.text
    assert wanted.text == wanted.text.strip()
    assert wanted.mode in MODES
    assert all(isinstance(one, UUID) for one in wanted.scope.collections)


@pytest.mark.parametrize(
    ("value", "answer"), [("", False), ("x", False), ("0c6d64b2-8c1f-4f0a-9a5e-2b1f3c4d5e6f", True)]
)
def test_an_id_is_told_from_what_is_none(value, answer):
    assert is_id(value) is answer
