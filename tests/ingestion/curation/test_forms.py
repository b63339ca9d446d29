from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.http import QueryDict
from django.test import RequestFactory

from ingestion.curation import forms
from ingestion.models import Entity
from kb_project.errors import InputError, NotFoundError

ONE, TWO = UUID(int=1), UUID(int=2)


def given(**values: object) -> QueryDict:
    query = QueryDict(mutable=True)
    for name, value in values.items():
        query.setlist(name, list(map(str, value)) if isinstance(value, list) else [str(value)])
    return query


def test_ids_are_taken_once_each_in_their_order():
    assert forms.ids_of(given(one=[TWO, ONE, TWO, ""]), "one") == [TWO, ONE]
    assert forms.id_of(given(one=ONE), "one") == ONE
    assert forms.id_of(given(), "one") is None


def test_what_is_no_id_is_not_found_and_thousands_are_refused():
    with pytest.raises(NotFoundError):
        forms.ids_of(given(one=["x"]), "one")
    with pytest.raises(InputError, match="2,001 is too many"):
        forms.ids_of(given(one=[uuid4() for _ in range(2001)]), "one")


@pytest.mark.parametrize("wrong", ["", "x", "-1", "1" * 16, "٣"])
def test_a_revision_is_a_number(wrong):
    with pytest.raises(InputError, match="which version you saw"):
        forms.expected_of(given(seen=[f"{ONE}:{wrong}"]))


def test_the_same_selection_has_the_same_word_in_any_order():
    first = forms.selection_of(given(document=[ONE, TWO], alias=["A", ""]))
    again = forms.selection_of(given(document=[TWO, ONE], alias=["A"]))
    other = forms.selection_of(given(chunk=[ONE, TWO], alias=["A"]))

    assert forms.selected(first) == forms.selected(again)
    assert forms.selected(first) != forms.selected(other)


def test_what_is_typed_is_cut_where_no_field_reaches():
    assert len(forms.typed(given(name="x" * 30_000), "name")) == forms.LONGEST
    assert forms.lines_of(given(words="a, b,, c "), "words", divider=",") == ["a", "b", "c"]


def test_a_fact_leads_from_the_entity_or_to_it():
    entity = Entity(pk=ONE)

    assert forms.ends_of(entity, given(target=TWO)) == (ONE, TWO)
    assert forms.ends_of(entity, given(target=TWO, direction="in")) == (TWO, ONE)
    with pytest.raises(InputError, match="No other entity is selected"):
        forms.ends_of(entity, given())


@pytest.mark.parametrize(
    ("wanted", "target"),
    [
        ("/w/harbour/entities/", "/w/harbour/entities/"),
        ("https://example.com/", "/home/"),
        ("//example.com/", "/home/"),
        ("javascript:alert(1)", "/home/"),
        ("", "/home/"),
    ],
)
def test_a_form_returns_to_a_page_of_ours_only(wanted, target):
    request = RequestFactory().post("/", {"next": wanted})

    assert forms.back_of(request, "/home/") == target
