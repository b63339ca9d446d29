from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers.document import clean, is_clean, one_line


@pytest.mark.parametrize(
    ("dirty", "final"),
    [
        ("a\r\nb\rc\x0cd\x85e\u2028f", "a\nb\nc\nd\ne\nf"),
        ("nul\x00 bell\x07 delete\x7f", "nul bell delete"),
        ("soft\u00adhyphen \ufeffmark", "softhyphen mark"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("tab\tstays, é and e\u0301 differ", "tab\tstays, é and e\u0301 differ"),
    ],
)
def test_text_takes_its_final_form(dirty, final):
    assert clean(dirty)[0] == final


def test_only_controls_are_counted():
    assert clean("a\x00b\x01\r\n\u00ad")[1] == 2


@given(st.text(st.characters()))
def test_any_text_becomes_clean_once_and_for_all(text):
    final, _ = clean(text)

    assert is_clean(final)
    assert clean(final) == (final, 0)
    final.encode("utf-8")


def test_a_long_label_is_shortened():
    assert one_line("a \n b\t" + "c" * 400, limit=10) == "a b ccccc…"
