from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from ingestion.models import Document
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.unread import half_read, read_chunks

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def document(cast: rows.Cast) -> Document:
    return half_read(cast.workspace, rejected={"quote_not_found": 4})


def problems(cast: rows.Cast, document: Document) -> str:
    return address(cast.workspace, f"documents/{document.pk}/passages/problems/")


def again(cast: rows.Cast, document: Document) -> str:
    return address(cast.workspace, f"documents/{document.pk}/passages/retry/")


def test_a_reader_sees_which_passages_failed_and_what_was_kept_out(cast, document):
    body = client(cast.bob).get(problems(cast, document)).json()

    assert (body["document"], body["total"]) == (str(document.pk), 2)
    assert body["rejected"] == {"quote_not_found": 4}
    first, second = body["passages"]
    assert set(first) == {
        "chunk",
        "number",
        "start",
        "end",
        "page",
        "heading_path",
        "text",
        "problem",
    }
    assert (first["number"], first["text"]) == (2, "Bo Strand sells oil.")
    assert second["problem"]["code"] == "reply_truncated"


def test_a_document_without_problems_has_an_empty_list(cast: rows.Cast):
    document = rows.make_document(cast.workspace, "Fine", "All is well.")

    body = client(cast.alice).get(problems(cast, document)).json()

    assert (body["total"], body["passages"], body["rejected"]) == (0, [], {})


def test_an_editor_retries_all(cast: rows.Cast, document: Document):
    response = client(cast.alice).post(again(cast, document))

    assert response.status_code == 202
    assert response.json()["document"] == str(document.pk)
    assert read_chunks(document) == [0]


def test_an_editor_retries_one(cast: rows.Cast, document: Document):
    chunk = rows.chunks_of(document)[2]

    response = client(cast.alice).post(again(cast, document), {"chunk": str(chunk.pk)})

    assert response.status_code == 202
    assert read_chunks(document) == [0, 1]


def test_a_second_retry_at_once_is_a_conflict(cast: rows.Cast, document: Document):
    chunk = rows.chunks_of(document)[2]
    client(cast.alice).post(again(cast, document), {"chunk": str(chunk.pk)})

    response = client(cast.alice).post(again(cast, document))

    assert_problem(response, 409, "already_under_way")


def test_a_passage_that_did_not_fail_is_a_conflict(cast: rows.Cast, document: Document):
    response = client(cast.alice).post(again(cast, document), {"chunk": str(uuid4())})

    assert_problem(response, 409, "nothing_to_retry")


def test_what_is_no_id_is_named(cast: rows.Cast, document: Document):
    response = client(cast.alice).post(again(cast, document), {"chunk": "the second"})

    assert set(assert_problem(response, 400, "invalid_input")["fields"]) == {"chunk"}


def test_a_reader_may_not_retry(cast: rows.Cast, document: Document):
    assert_problem(client(cast.bob).post(again(cast, document)), 403, "forbidden")
    assert read_chunks(document) == [0, 1, 2]


def test_a_stranger_finds_nothing(cast: rows.Cast, document: Document):
    assert_nothing_there(client(cast.charlie).get(problems(cast, document)))
    assert_nothing_there(client(cast.charlie).post(again(cast, document)))


def test_another_workspaces_document_is_not_there(cast: rows.Cast):
    elsewhere = half_read(rows.make_workspace("Elsewhere"))

    assert_problem(client(cast.alice).get(problems(cast, elsewhere)), 404, "not_found")
    assert_problem(client(cast.alice).post(again(cast, elsewhere)), 404, "not_found")
