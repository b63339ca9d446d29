from __future__ import annotations

from datetime import date
from uuid import UUID, uuid4

import pytest
from django.http import QueryDict
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from retrieval.conversations.forms import filters_of, is_id, text_of, wanted_of
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

    assert (wanted.text, wanted.mode, wanted.filters) == ("", DEFAULT_MODE, {})
    assert wanted.scope.is_open


def test_all_documents_as_a_choice_is_an_open_scope():
    assert wanted_of(sent(collections=[""]), "q").scope.is_open


def test_what_is_no_collection_is_left_out_and_the_others_stay():
    shelf = str(uuid4())
    wanted = wanted_of(sent(collections=["no-id", shelf, "7"]), "q")

    assert wanted.filters == {"collections": [shelf]}


def test_a_text_that_is_too_long_stays_whole_for_whoever_refuses_it():
    assert len(wanted_of(sent(q="x" * 100_000), "q").text) == 100_000


def test_nothing_asked_has_its_own_sentence():
    with pytest.raises(InputError, match="Nothing was asked"):
        _ = wanted_of(sent(q="  "), "q").question


def test_every_filter_of_a_scope_may_be_sent():
    paper = str(uuid4())

    scope = wanted_of(
        sent(
            documents=[paper, "no-id"],
            tags=["tide", "tide", ""],
            dated_from="2024-05-01",
            dated_to="",
        ),
        "q",
    ).scope

    assert scope == Scope(documents=(UUID(paper),), tags=("tide",), dated_from=date(2024, 5, 1))


def test_a_date_that_is_none_is_refused_and_not_left_out():
    with pytest.raises(InputError, match="dated_from"):
        _ = wanted_of(sent(dated_from="yesterday"), "q").scope


def test_a_conversation_goes_on_by_its_id_alone():
    conversation = uuid4()

    assert wanted_of(sent(conversation=str(conversation)), "q").conversation == conversation
    assert wanted_of(sent(conversation="the last one"), "q").conversation is None


def test_what_is_typed_to_find_something_is_short():
    assert text_of(sent(find=" Ada\0 "), "find") == "Ada"
    assert len(text_of(sent(find="x" * 900), "find")) == 100


@given(st.dictionaries(st.sampled_from(["tags", "documents", "dated_to"]), st.text()))
def test_filters_hold_only_what_was_sent(values):
    assert set(filters_of(sent(**values))) <= set(values)


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
