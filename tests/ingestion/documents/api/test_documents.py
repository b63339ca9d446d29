from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django_q.models import OrmQ

from ingestion.documents.services import document_upload
from ingestion.models import Document, DocumentState, DocumentVersion, IngestionJob, RunState
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nThe light burns oil that Ada Lind buys."


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    return rows.make_cast()


def text_file(name: str = "log.txt", text: str = TEXT) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode(), "text/plain")


def upload(cast: rows.Cast, user, *files: SimpleUploadedFile, **fields: object) -> Any:
    data = {"file": list(files), **fields}
    return client(user).post(address(cast.workspace, "documents/"), data, format="multipart")


def upload_one(cast: rows.Cast) -> str:
    return upload(cast, cast.alice, text_file()).json()["documents"][0]["document"]


# --- adding ---------------------------------------------------------------------------------------
def test_an_editor_adds_a_file_and_is_told_where_to_look_how_it_goes_on(cast: rows.Cast):
    response = upload(cast, cast.alice, text_file())

    assert response.status_code == 202
    body = response.json()
    [added] = body["documents"]
    assert (body["total"], body["added"]) == (1, 1)
    assert (added["name"], added["outcome"], added["state"]) == ("log.txt", "added", "queued")
    seen = client(cast.alice).get(added["url"]).json()
    assert (seen["id"], seen["job"]) == (added["document"], added["job"])


def test_files_sent_twice_with_a_key_are_added_once(cast: rows.Cast):
    def send() -> Any:
        given, data = address(cast.workspace, "documents/"), {"file": [text_file()]}
        key = {"Idempotency-Key": "once"}
        return client(cast.alice).post(given, data, format="multipart", headers=key)

    first, again = send(), send()

    assert (first.status_code, again.status_code) == (202, 202)
    assert again.json() == first.json()
    assert again.json()["added"] == 1


def test_what_was_added_waits_for_a_worker(cast: rows.Cast):
    upload(cast, cast.alice, text_file())

    assert [row.key for row in OrmQ.objects.all()] == ["main"]


def test_many_files_have_one_outcome_each(cast: rows.Cast, settings):
    settings.MAX_UPLOAD_BYTES = 100
    files = [text_file("a.txt", "one"), text_file("b.txt", "x" * 200), text_file("c.txt", "one")]

    response = upload(cast, cast.alice, *files)

    outcomes = {row["name"]: row for row in response.json()["documents"]}
    assert {name: row["outcome"] for name, row in outcomes.items()} == {
        "a.txt": "added",
        "b.txt": "refused",
    } | {"a.txt": "duplicate"}
    assert outcomes["b.txt"]["problem"]["code"] == "too_large"
    assert outcomes["b.txt"]["document"] is None


def test_a_file_that_is_refused_alone_is_an_error(cast: rows.Cast, settings):
    settings.MAX_UPLOAD_BYTES = 10

    response = upload(cast, cast.alice, text_file())

    body = assert_problem(response, 400, "too_large")
    assert "The file was not stored" in body["kept"]


def test_a_file_is_filed_as_asked(cast: rows.Cast):
    upload(
        cast,
        cast.alice,
        text_file(),
        collection="Logs",
        tag=["Tide", "oil, light"],
        dated="2024-05-01",
    )

    with access.in_workspace(cast.workspace.pk):
        document = Document.objects.in_workspace(cast.workspace).select_related("collection").get()
        assert document.collection.name == "Logs"
    assert document.tags == ["tide", "oil", "light"]
    assert document.dated == date(2024, 5, 1)
    assert document.added_by == cast.alice


def test_a_form_without_a_file_is_refused(cast: rows.Cast):
    body = assert_problem(upload(cast, cast.alice), 400, "no_file")

    assert "'file'" in body["next_step"]


def test_an_empty_name_or_date_is_named(cast: rows.Cast):
    response = upload(cast, cast.alice, text_file(), dated="yesterday")

    assert set(assert_problem(response, 400, "invalid_input")["fields"]) == {"dated"}


def test_a_reader_may_not_add(cast: rows.Cast):
    body = assert_problem(upload(cast, cast.bob, text_file()), 403, "forbidden")

    assert body["next_step"] == "Ask Alice."
    with access.in_workspace(cast.workspace.pk):
        assert not Document.objects.in_workspace(cast.workspace).exists()


def test_a_stranger_finds_nowhere_to_add(cast: rows.Cast):
    assert_nothing_there(upload(cast, cast.charlie, text_file()))


def test_nobody_adds_without_signing_in(cast: rows.Cast):
    assert_problem(upload(cast, None, text_file()), 401, "not_authenticated")


def test_json_in_place_of_a_form_is_refused(cast: rows.Cast):
    response = client(cast.alice).post(address(cast.workspace, "documents/"), {"file": "x"})

    assert_problem(response, 415, "unsupported_media_type")


# --- listing --------------------------------------------------------------------------------------
def listed(cast: rows.Cast, user, query: str = "") -> Any:
    return client(user).get(address(cast.workspace, f"documents/{query}"))


def make_shelf(cast: rows.Cast) -> None:
    logs = rows.make_collection(cast.workspace, "Logs")
    rows.make_document(cast.workspace, "Tide log", "The tide.", collection=logs, tags=["sea"])
    rows.make_document(cast.workspace, "Oil bill", "The oil.", tags=["money"])
    rows.make_document(cast.workspace, "Chart", "The reef.", media_type="application/pdf")


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_list_documents_newest_first(cast: rows.Cast, who: str):
    make_shelf(cast)

    body = listed(cast, getattr(cast, who)).json()

    assert [row["title"] for row in body["results"]] == ["Chart", "Oil bill", "Tide log"]
    assert {name: body[name] for name in ("total", "page", "page_size", "pages")} == {
        "total": 3,
        "page": 1,
        "page_size": 25,
        "pages": 1,
    }


def test_a_row_says_what_is_known_of_the_document(cast: rows.Cast):
    make_shelf(cast)

    row = listed(cast, cast.bob).json()["results"][2]

    assert (row["collection"], row["tags"], row["state"]) == ("Logs", ["sea"], "ready")
    assert (row["chunks"], row["warnings"], row["problem"]) == (1, [], None)
    assert row["media_type"] == "text/plain"


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("?q=TIDE", ["Tide log"]),
        ("?tag=Money", ["Oil bill"]),
        ("?collection=Logs", ["Tide log"]),
        ("?media_type=application/pdf", ["Chart"]),
        ("?state=attention", []),
        ("?state=ready&q=o", ["Oil bill", "Tide log"]),
        ("?collection=None%20such", []),
    ],
)
def test_a_filter_narrows_the_list(cast: rows.Cast, query: str, titles: list[str]):
    make_shelf(cast)

    assert [row["title"] for row in listed(cast, cast.bob, query).json()["results"]] == titles


def test_a_collection_goes_by_its_id_too(cast: rows.Cast):
    make_shelf(cast)
    logs = rows.make_collection(cast.workspace, "Charts")

    assert listed(cast, cast.bob, f"?collection={logs.pk}").json()["total"] == 0


def test_pages_cut_the_list(cast: rows.Cast):
    make_shelf(cast)

    second = listed(cast, cast.bob, "?page=2&page_size=2").json()
    beyond = listed(cast, cast.bob, "?page=9&page_size=2").json()

    assert ([row["title"] for row in second["results"]], second["pages"]) == (["Tide log"], 2)
    assert (beyond["results"], beyond["total"]) == ([], 3)


@pytest.mark.parametrize("query", ["?page_size=101", "?page=0", "?page=x", "?state=lost"])
def test_a_page_or_filter_that_cannot_be_is_refused(cast: rows.Cast, query: str):
    [field] = assert_problem(listed(cast, cast.bob, query), 400, "invalid_input")["fields"]

    assert field in query


def test_a_stranger_lists_nothing(cast: rows.Cast):
    assert_nothing_there(listed(cast, cast.charlie))


def test_nobody_lists_without_signing_in(cast: rows.Cast):
    assert_problem(listed(cast, None), 401, "not_authenticated")


# --- one document ---------------------------------------------------------------------------------
def test_a_document_shows_its_stages_and_counts(cast: rows.Cast):
    upload_one(cast)
    made = rows.make_document(cast.workspace, "Keepers", TEXT, names={"Ada Lind": "PERSON"})
    [waiting] = [
        row for row in listed(cast, cast.bob).json()["results"] if row["name"] == "log.txt"
    ]

    queued = client(cast.bob).get(address(cast.workspace, f"documents/{waiting['id']}/")).json()
    ready = client(cast.bob).get(address(cast.workspace, f"documents/{made.pk}/")).json()

    assert [stage["name"] for stage in queued["stages"]][:3] == ["parse", "chunk", "situate"]
    assert {stage["state"] for stage in queued["stages"]} == {"pending"}
    assert (ready["chunks"], ready["entities"], ready["characters"]) == (2, 1, len(TEXT))
    assert (ready["job"], ready["parser"]) == (None, "text")


@pytest.mark.parametrize(
    "path", ["documents/{}/", "documents/{}/text/", "documents/{}/retry/", "documents/{}/cancel/"]
)
def test_a_document_that_is_not_there_is_not_found(cast: rows.Cast, path: str):
    where = address(cast.workspace, path.format(uuid4()))
    ask = client(cast.alice).post if "retry" in path or "cancel" in path else client(cast.alice).get

    body = assert_problem(ask(where), 404, "not_found")

    assert body["happened"] == "There is no such document in this workspace."


def test_a_document_of_another_workspace_is_not_found(cast: rows.Cast):
    elsewhere = rows.make_workspace("Elsewhere", owner=cast.charlie)
    foreign = rows.make_document(elsewhere, "Secret", "Nothing for Alice.")

    response = client(cast.alice).get(address(cast.workspace, f"documents/{foreign.pk}/"))

    assert_problem(response, 404, "not_found")


def test_a_stranger_looks_at_no_document(cast: rows.Cast):
    document = rows.make_document(cast.workspace, "Keepers", TEXT)

    for path in ("", "text/"):
        where = address(cast.workspace, f"documents/{document.pk}/{path}")
        assert_nothing_there(client(cast.charlie).get(where))
        assert_problem(client().get(where), 401, "not_authenticated")


# --- its text -------------------------------------------------------------------------------------
def read(cast: rows.Cast, query: str = "") -> Any:
    document = rows.make_document(cast.workspace, "Keepers", TEXT)
    with access.in_workspace(cast.workspace.pk):
        versions = DocumentVersion.objects.in_workspace(cast.workspace).filter(document=document)
        versions.update(parsed_at=document.created_at)
    return client(cast.bob).get(address(cast.workspace, f"documents/{document.pk}/text/{query}"))


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("", 0, len(TEXT)),
        ("?start=4", 4, len(TEXT)),
        ("?start=4&end=8", 4, 8),
        ("?start=24&end=30", 24, 30),
        ("?start=4&end=9999", 4, len(TEXT)),
        ("?start=9999", len(TEXT), len(TEXT)),
    ],
)
def test_a_stretch_of_text_is_cut_by_characters(cast: rows.Cast, query: str, start: int, end: int):
    body = read(cast, query).json()

    assert (body["start"], body["end"], body["total"]) == (start, end, len(TEXT))
    assert body["text"] == TEXT[start:end]


def test_a_stretch_that_ends_before_it_starts_is_refused(cast: rows.Cast):
    assert_problem(read(cast, "?start=8&end=4"), 400, "invalid_range")


def test_a_document_that_was_not_read_yet_has_no_empty_text(cast: rows.Cast):
    document = upload_one(cast)

    response = client(cast.bob).get(address(cast.workspace, f"documents/{document}/text/"))

    assert_problem(response, 409, "not_read_yet")


# --- retry and cancel -----------------------------------------------------------------------------
def act(cast: rows.Cast, user, document: str, action: str) -> Any:
    return client(user).post(address(cast.workspace, f"documents/{document}/{action}/"))


def state_of(cast: rows.Cast, document: str) -> str:
    with access.in_workspace(cast.workspace.pk):
        return Document.objects.in_workspace(cast.workspace).get(pk=document).state


def test_an_editor_stops_a_document_and_takes_it_up_again(cast: rows.Cast):
    document = upload_one(cast)

    stopped = act(cast, cast.alice, document, "cancel")
    state_when_stopped = state_of(cast, document)
    again = act(cast, cast.alice, document, "retry")

    assert (stopped.status_code, again.status_code) == (202, 202)
    assert state_when_stopped == DocumentState.ATTENTION
    assert state_of(cast, document) == DocumentState.QUEUED
    with access.in_workspace(cast.workspace.pk):
        job = IngestionJob.objects.in_workspace(cast.workspace).get(pk=again.json()["job"])
    assert job.state == RunState.PENDING


@pytest.mark.parametrize(
    ("action", "code"), [("retry", "nothing_to_retry"), ("cancel", "nothing_to_cancel")]
)
def test_what_is_finished_can_be_neither_stopped_nor_tried_again(
    cast: rows.Cast, action: str, code: str
):
    document = rows.make_document(cast.workspace, "Keepers", TEXT)

    assert_problem(act(cast, cast.alice, str(document.pk), action), 409, code)


@pytest.mark.parametrize("action", ["retry", "cancel"])
def test_only_editors_stop_and_retry(cast: rows.Cast, action: str):
    document = upload_one(cast)

    assert_problem(act(cast, cast.bob, document, action), 403, "forbidden")
    assert_nothing_there(act(cast, cast.charlie, document, action))
    assert_problem(act(cast, None, document, action), 401, "not_authenticated")
    assert state_of(cast, document) == DocumentState.QUEUED


def test_pages_and_the_api_speak_of_the_same_documents(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        made = document_upload(workspace=cast.workspace, file=text_file(), name="log.txt")

    assert listed(cast, cast.bob).json()["results"][0]["id"] == str(made.document.pk)
