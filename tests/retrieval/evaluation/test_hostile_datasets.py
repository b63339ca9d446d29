"""A data set comes from anywhere: whatever is in it, the loader reads it or says what is wrong."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from kb_project.errors import InputError
from retrieval.evaluation.dataset import Dataset, load, place_chunks, readable

GOOD_DOCUMENT = {"id": "d0", "title": "Tides", "text": "The tide rises."}
GOOD_QUESTION = {"question": "What rises?", "evidence": ["d0"]}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
document_records = st.fixed_dictionaries(
    {"id": values}, optional={"title": values, "text": values, "chunks": values}
)
question_records = st.fixed_dictionaries(
    {"question": values, "evidence": values | st.lists(st.just("d0") | values, max_size=2)},
    optional={"answer": values},
)


def loaded(documents: bytes, questions: bytes) -> Dataset:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "documents.jsonl").write_bytes(documents)
        (folder / "questions.jsonl").write_bytes(questions)
        return load(folder)


def lines(*records: object) -> bytes:
    return "\n".join(json.dumps(record) for record in records).encode()


def outcome(documents: bytes, questions: bytes) -> Dataset | InputError:
    try:
        return loaded(documents, questions)
    except InputError as refused:
        return refused


def read_or_refused(documents: bytes, questions: bytes) -> None:
    found = outcome(documents, questions)
    if isinstance(found, Dataset):
        require_sound(found)
    else:
        assert found.code.startswith("dataset_")
        assert "documents.jsonl" in found.happened or "questions.jsonl" in found.happened


def require_sound(dataset: Dataset) -> None:
    for document in dataset.documents:
        document.text.encode("utf-8")
        for start, end in document.spans or ():
            assert 0 <= start <= end <= len(document.text)
    for question in dataset.questions:
        assert question.evidence
        for evidence in question.evidence:
            assert evidence.documents
            assert all(0 <= place < len(dataset.documents) for place in evidence.documents)


@settings(deadline=None, max_examples=60)
@given(st.lists(document_records, max_size=3))
def test_documents_of_any_shape_are_read_or_refused(records):
    read_or_refused(lines(GOOD_DOCUMENT, *records), lines(GOOD_QUESTION))


@settings(deadline=None, max_examples=60)
@given(st.lists(question_records, min_size=1, max_size=3))
def test_questions_of_any_shape_are_read_or_refused(records):
    read_or_refused(lines(GOOD_DOCUMENT), lines(*records))


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=60))
def test_bytes_of_any_kind_are_read_or_refused(noise):
    read_or_refused(lines(GOOD_DOCUMENT) + b"\n" + noise, lines(GOOD_QUESTION))


@pytest.mark.parametrize(
    "question",
    [
        GOOD_QUESTION | {"evidence": 7},
        GOOD_QUESTION | {"evidence": "d0"},
        GOOD_QUESTION | {"evidence": {"doc": "d0"}},
        GOOD_QUESTION | {"evidence": [{"doc": "d0", "chunk": "the second"}]},
        GOOD_QUESTION | {"evidence": [{"doc": "d0", "chunk": [1]}]},
        GOOD_QUESTION | {"evidence": [{"chunk": 0}]},
        GOOD_QUESTION | {"evidence": [None]},
    ],
)
def test_evidence_that_cannot_be_read_is_refused_with_its_line(question):
    with pytest.raises(InputError, match=r"questions\.jsonl line 2"):
        loaded(lines(GOOD_DOCUMENT), lines(GOOD_QUESTION, question))


@pytest.mark.parametrize("chunks", [5, True, "a text", {"first": "a text"}])
def test_chunks_that_are_no_list_are_refused_with_their_line(chunks):
    with pytest.raises(InputError, match=r"documents\.jsonl line 1"):
        loaded(lines(GOOD_DOCUMENT | {"chunks": chunks}), lines(GOOD_QUESTION))


def test_nesting_too_deep_to_read_is_refused_with_its_line():
    deep = b"[" * 200_000 + b"]" * 200_000

    with pytest.raises(InputError, match=r"documents\.jsonl line 2"):
        loaded(lines(GOOD_DOCUMENT) + b"\n" + deep, lines(GOOD_QUESTION))


def test_bytes_that_are_no_text_are_refused_with_the_file():
    with pytest.raises(InputError, match=r"questions\.jsonl cannot be read") as refused:
        loaded(lines(GOOD_DOCUMENT), b"\xff\xfe")

    assert refused.value.code == "dataset_unreadable"


def test_blank_lines_are_passed_over_and_still_counted():
    with pytest.raises(InputError, match=r"documents\.jsonl line 4"):
        loaded(lines(GOOD_DOCUMENT) + b"\n\n  \n{", lines(GOOD_QUESTION))


def test_a_line_break_inside_a_value_does_not_end_the_record():
    record = json.dumps(GOOD_DOCUMENT | {"text": "one\u2028two"}, ensure_ascii=False).encode()

    assert loaded(record, lines(GOOD_QUESTION)).documents[0].text == "one\ntwo"


@given(st.text())
def test_what_was_made_readable_once_stays_as_it_is(text):
    once = readable(text)

    assert readable(once) == once
    assert "\x00" not in once
    assert "\r" not in once
    once.encode("utf-8")


@given(st.lists(st.text(alphabet="ab \n", max_size=6), min_size=1, max_size=5))
def test_chunks_made_of_little_are_placed_where_they_are(chunks):
    text, spans = place_chunks("", chunks)

    assert [text[start:end] for start, end in spans] == chunks
