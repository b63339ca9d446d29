from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from retrieval.evaluation.dataset import load, place_chunks, readable

DOCUMENTS = [
    {"id": "d0", "title": "Tides", "text": "The tide rises. The tide falls."},
    {"id": "d1", "title": "Lights", "text": "ignored", "chunks": ["A lamp.", "A lens."]},
    {"id": "d2", "title": "Tides", "text": "Another text of that title."},
]
QUESTIONS = [
    {"question": "What rises?", "evidence": ["Tides", {"doc": "d1", "chunk": 1}], "answer": "It."},
]


@pytest.fixture
def folder(tmp_path):
    def write(documents=DOCUMENTS, questions=QUESTIONS):
        for name, records in (("documents", documents), ("questions", questions)):
            lines = (r if isinstance(r, str) else json.dumps(r) for r in records)
            (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path

    return write


def test_a_data_set_is_read_with_its_evidence_resolved(folder):
    dataset = load(folder())

    question = dataset.questions[0]
    assert [document.id for document in dataset.documents] == ["d0", "d1", "d2"]
    assert question.evidence[0].documents == {0, 2}
    assert question.evidence[1].documents == {1}
    assert question.evidence[1].chunk == 1
    assert question.answer == "It."


def test_an_id_goes_before_a_title(folder):
    documents = [*DOCUMENTS, {"id": "Tides", "title": "Other", "text": "x"}]

    dataset = load(folder(documents))

    assert dataset.questions[0].evidence[0].documents == {3}


def test_chunks_found_in_the_text_leave_it_as_it_is():
    text = "One.  Two. Two."

    assert place_chunks(text, ["One.", "Two.", "Two."]) == (text, ((0, 4), (6, 10), (11, 15)))


def test_chunks_may_overlap():
    assert place_chunks("abcdef", ["abcd", "cdef"]) == ("abcdef", ((0, 4), (2, 6)))


def test_chunks_that_are_not_in_the_text_make_the_text(folder):
    document = load(folder()).documents[1]

    assert document.text == "A lamp.\n\nA lens."
    assert document.spans is not None
    assert [document.text[a:b] for a, b in document.spans] == ["A lamp.", "A lens."]


@given(st.lists(st.text(min_size=1), min_size=1, max_size=6), st.text())
def test_every_chunk_is_cut_out_of_the_text_in_order(chunks, text):
    placed, spans = place_chunks(text, chunks)

    assert [placed[start:end] for start, end in spans] == chunks
    assert list(spans) == sorted(spans)


def test_text_is_brought_into_the_form_a_reader_gives_it():
    assert readable("a\r\nb\u2028c\x00\ufeffd\ud800") == "a\nb\ncd\ufffd"


@pytest.mark.parametrize(
    ("documents", "questions", "fault"),
    [
        ([], QUESTIONS, "not a document"),
        (DOCUMENTS, [], "empty"),
        (["{broken"], QUESTIONS, "line 1 is not JSON"),
        (["[1]"], QUESTIONS, "not a JSON object"),
        ([{"title": "x"}], QUESTIONS, "has no text 'id'"),
        (DOCUMENTS, [{"question": "Why?", "evidence": []}], "no evidence"),
        (DOCUMENTS, [{"question": "Why?", "evidence": ["Nowhere"]}], "not a document"),
    ],
)
def test_a_broken_data_set_is_refused_with_the_place(folder, documents, questions, fault):
    with pytest.raises(InputError, match=fault):
        load(folder(documents, questions))


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path)
