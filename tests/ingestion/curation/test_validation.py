from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ingestion.curation.validation import (
    aliases_given,
    description_given,
    keywords_given,
    name_given,
    type_given,
)
from kb_project.errors import InputError


def refusal(give: Callable[..., Any], value: Any) -> str:
    with pytest.raises(InputError) as refused:
        give(value)
    assert refused.value.kept
    assert refused.value.next_step
    return refused.value.code


@pytest.mark.parametrize(
    ("text", "name", "key"),
    [
        ("Acme Ltd", "Acme Ltd", "acme ltd"),
        ("  The\n Café\t of J. R. R. Tolkien’s ", "The Café of J. R. R. Tolkien’s",
         "cafe of jrr tolkien"),
        ("C#", "C#", "c#"),
        ("查尔斯·狄更斯", "查尔斯·狄更斯", "查尔斯狄更斯"),
        ("x" * 300, "x" * 300, "x" * 300),
    ],
)  # fmt: skip
def test_a_name_is_kept_as_it_is_on_one_line(text: str, name: str, key: str):
    assert name_given(text) == (name, key)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("?!", "no_letters"),
        ("x" * 301, "too_long"),
        ("x" * 10_000, "too_long"),
        ("a\x00b", "unseen_characters"),
        ("a\x1bb", "unseen_characters"),
        ("a\u202eb", "unseen_characters"),
        ("\ud800", "unseen_characters"),
        ("\ue000", "unseen_characters"),
    ],
)
def test_what_is_no_name_is_refused(text: str, code: str):
    assert refusal(name_given, text) == code


@given(st.text(max_size=400))
def test_whatever_is_typed_is_a_name_or_refused(text: str):
    try:
        name, key = name_given(text)
    except InputError:
        return
    assert 0 < len(name) <= 300
    assert key
    assert "\0" not in name
    assert name_given(name) == (name, key)


@pytest.mark.parametrize("letters", ["नमस्ते", "\u200dمی‌خواهم", "👩‍🚀 Ada"])
def test_joiners_that_scripts_need_are_kept(letters: str):
    assert name_given(letters)[0] == letters.strip()


def test_a_type_is_a_word_in_small_letters():
    assert type_given(" Shipping  Firm ") == "shipping firm"
    assert refusal(type_given, "") == "empty"
    assert refusal(type_given, "x" * 41) == "too_long"


def test_a_description_keeps_its_lines():
    assert description_given(" A firm.\r\n\tIn Orran.\n") == "A firm.\n\tIn Orran."
    assert description_given("  ") == ""
    assert refusal(description_given, "x" * 10_001) == "too_long"
    assert refusal(description_given, "a\x00") == "unseen_characters"


def test_keywords_are_told_once():
    assert keywords_given(["sea", " sea ", "", "oil trade"]) == ["sea", "oil trade"]
    assert refusal(keywords_given, ["x" * 81]) == "too_long"
    assert refusal(keywords_given, [str(n) for n in range(51)]) == "too_many"


def test_aliases_are_known_by_their_keys():
    assert aliases_given(["Acme", "ACME", "The Firm"]) == {"acme": "ACME", "firm": "The Firm"}
    assert refusal(aliases_given, ["Acme", ""]) == "empty"
