from __future__ import annotations

import pytest
from django.http import QueryDict

from ingestion.documents import forms


def test_a_span_is_read_from_the_address():
    place = forms.place_of(QueryDict("start=3&end=9&view=page&page=2"))

    assert place == forms.ReaderPosition(span=(3, 9), view="page", page=2)


@pytest.mark.parametrize("query", ["", "start=3", "start=-1&end=4", "start=x&end=²", "start=&end="])
def test_half_a_span_or_nonsense_is_no_span(query):
    assert forms.place_of(QueryDict(query)).span is None


def test_a_number_too_large_for_the_database_is_made_smaller():
    assert forms.number(QueryDict("page=9999999999"), "page") == forms.LARGEST
    assert forms.number(QueryDict("page=99999999999"), "page") is None


def test_only_states_there_are_narrow_the_list():
    assert forms.state_of(QueryDict("state=attention")) == "attention"
    assert forms.state_of(QueryDict("state=asleep")) == ""


def test_search_words_lose_what_the_database_refuses():
    assert forms.words_of(QueryDict("q=%20a%00b%20"), "q") == "ab"
