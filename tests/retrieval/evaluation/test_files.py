from __future__ import annotations

import json
from contextlib import suppress
from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from retrieval.evaluation import sets
from retrieval.evaluation.evidence import Names
from retrieval.evaluation.sets import export, parse
from retrieval.models import SetQuestion

OIL = uuid4()
NAMES = Names([(OIL, "Oil")])
GOOD = {"question": "What burns?", "evidence": ["Oil"], "answer": "Oil."}


def file_of(*records) -> bytes:
    lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
    return "\n".join(lines).encode()


def test_the_file_of_the_evaluate_command_is_read():
    found = parse(
        file_of(GOOD, "", {"question": " Who? ", "evidence": [{"doc": "Oil", "chunk": 1}]}), NAMES
    )

    assert [(one.text, one.answer) for one in found] == [("What burns?", "Oil."), ("Who?", "")]
    assert found[1].evidence == ({"document": str(OIL), "chunk": 1, "quote": ""},)


def test_what_is_written_is_read_again_as_it_was():
    found = parse(file_of(GOOD), NAMES)[0]
    question = SetQuestion(text=found.text, answer=found.answer, evidence=list(found.evidence))

    lines = list(export([question], NAMES))

    assert json.loads(lines[0]) == GOOD
    assert parse("".join(lines).encode(), NAMES) == [found]


def test_every_bad_line_is_named_by_its_number():
    content = file_of(
        GOOD,
        "{broken",
        "[1]",
        {"evidence": ["Oil"]},
        {"question": "?!", "evidence": ["Oil"]},
        {"question": "Who?", "evidence": ["Nowhere"]},
        {"question": "Who?", "evidence": ["Oil"], "answer": ["list"]},
        {"question": "Who " * 2_000, "evidence": ["Oil"]},
        {"question": "Who?", "evidence": ["Oil"], "answer": "x" * 10_000},
    )

    with pytest.raises(InputError) as refused:
        parse(content, NAMES)

    assert refused.value.code == "questions_invalid"
    assert refused.value.happened.startswith("8 of 9 lines cannot be used. Line 2: it is not JSON;")
    for fault in (
        "line 3: it is not a JSON object",
        "line 4: it has no text 'question'",
        "line 5: The question contains no words",
        "line 6: its evidence names no document in this workspace",
        "line 7: its answer is not text",
        "line 8: its question has more than",
        "line 9: its answer has more than",
    ):
        assert fault in refused.value.happened


def test_many_bad_lines_are_counted_not_listed():
    with pytest.raises(InputError, match=r"30 of 30 lines.*; and 18 more"):
        parse(file_of(*["{"] * 30), NAMES)


def test_a_file_in_another_encoding_is_refused_with_the_line():
    with pytest.raises(InputError, match="Line 2 is not UTF-8"):
        parse(file_of(GOOD) + b"\n\xff\xfe", NAMES)


def test_a_byte_order_mark_is_no_fault():
    assert len(parse(b"\xef\xbb\xbf" + file_of(GOOD), NAMES)) == 1


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_refused(content):
    with pytest.raises(InputError, match="no question"):
        parse(content, NAMES)


def test_a_file_beyond_the_limits_is_refused(monkeypatch):
    monkeypatch.setattr(sets, "MOST_QUESTIONS", 2)
    with pytest.raises(InputError, match="at most 2 questions"):
        parse(file_of(GOOD, GOOD, GOOD), NAMES)

    monkeypatch.setattr(sets, "LARGEST_FILE", 10)
    with pytest.raises(InputError, match="larger than"):
        parse(file_of(GOOD), NAMES)


@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_whatever_is_in_a_file_it_is_read_or_refused(content):
    with suppress(InputError):
        assert parse(content, NAMES)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["doc", "chunk", "quote", "x"]), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_whatever_stands_for_evidence_it_is_read_or_refused(value):
    with suppress(InputError):
        assert parse(file_of({"question": "Who?", "evidence": value}), NAMES)
