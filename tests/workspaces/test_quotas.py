"""Quotas: what a workspace may store and ask, and a person create, also for two at once."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import Client
from django.urls import reverse

from ingestion.documents import lifecycle, services, versions
from ingestion.history.recording import ChangeContext
from ingestion.models import Document
from kb_project.errors import KBError, LimitError, QuotaError
from retrieval.conversations import asking
from retrieval.models import Answer, AnswerState, Question
from tests import rows
from tests.api import address, assert_problem, client
from workspaces import access, limits
from workspaces.models import Role, User, Workspace
from workspaces.people import services as people_services

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "fake_embedder")]


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def upload(workspace: Workspace, content: bytes, user: User | None = None) -> Document:
    with access.in_workspace(workspace.pk):
        return services.document_upload(
            workspace=workspace, file=io.BytesIO(content), name="a.txt", user=user
        ).document


def ask(workspace: Workspace, user: User | None) -> Answer:
    return asking.question_ask(workspace=workspace, user=user, question="Who?", mode="walk")


def create(name: str, owner: User | None) -> Workspace:
    return people_services.workspace_create(name=name, owner=owner)


def files_in(media: Path) -> int:
    return sum(path.is_file() for path in media.rglob("*"))


def at_once(*work: Callable[[], object]) -> list[object]:
    """Do the work in threads that start together; return results, and errors of ours."""
    found: list[object] = [None] * len(work)
    start = threading.Barrier(len(work))

    def run(place: int) -> None:
        start.wait()
        try:
            found[place] = work[place]()
        except KBError as error:
            found[place] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


# --- storage --------------------------------------------------------------------------------------
def test_a_workspace_stores_no_more_bytes_than_allowed(cast: rows.Cast, settings: Any, media: Path):
    settings.MAX_STORED_BYTES = 100
    upload(cast.workspace, b"x" * 60)

    with pytest.raises(QuotaError, match="MB of files") as refused:
        upload(cast.workspace, b"y" * 41)

    assert refused.value.code == "quota_storage"
    assert "MAX_STORED_MB" in refused.value.next_step
    assert files_in(media) == 1
    upload(cast.workspace, b"z" * 40)


def test_another_workspace_has_its_own_storage(cast: rows.Cast, settings: Any):
    settings.MAX_STORED_BYTES = 100
    upload(cast.workspace, b"x" * 100)

    upload(rows.make_workspace("Elsewhere"), b"x" * 100)


def test_earlier_versions_and_the_trash_count_until_they_are_deleted(
    cast: rows.Cast, settings: Any
):
    settings.MAX_STORED_BYTES = 100
    document = upload(cast.workspace, b"x" * 60)
    change = ChangeContext(cast.workspace, cast.alice)
    with access.in_workspace(cast.workspace.pk):
        versions.document_replace(
            change=change, document=document, file=io.BytesIO(b"y" * 30), name="b.txt"
        )
        with pytest.raises(QuotaError):
            versions.document_replace(
                change=change, document=document, file=io.BytesIO(b"z" * 11), name="c.txt"
            )
        lifecycle.documents_trash(change=change, documents=[document])
    with pytest.raises(QuotaError):
        upload(cast.workspace, b"w" * 11)

    with access.in_workspace(cast.workspace.pk):
        trashed = Document.objects.in_workspace(cast.workspace)
        lifecycle.documents_delete(change=change, documents=list(trashed))
    upload(cast.workspace, b"w" * 100)


def test_a_workspace_has_no_more_documents_than_allowed(cast: rows.Cast, settings: Any):
    settings.MAX_DOCUMENTS = 2
    upload(cast.workspace, b"a")
    upload(cast.workspace, b"b")

    with pytest.raises(QuotaError, match="may have 2 documents, and has 2") as refused:
        upload(cast.workspace, b"c")

    assert refused.value.code == "quota_documents"
    # What is there already takes nothing.
    assert upload(cast.workspace, b"a").title == "a.txt"


def test_without_a_limit_nothing_is_counted(cast: rows.Cast, settings: Any, monkeypatch: Any):
    settings.MAX_DOCUMENTS = settings.MAX_STORED_BYTES = 0
    monkeypatch.setattr(limits, "_stored", None)

    assert upload(cast.workspace, b"a").title == "a.txt"


def test_the_api_and_the_page_say_what_was_kept(cast: rows.Cast, settings: Any):
    settings.MAX_DOCUMENTS = 1
    upload(cast.workspace, b"a")
    browser = Client()
    browser.force_login(cast.alice)

    by_api = client(cast.alice).post(
        address(cast.workspace, "documents/"),
        {"file": SimpleUploadedFile("b.txt", b"b")},
        format="multipart",
    )
    by_page = browser.post(
        reverse("ingestion:document_upload", args=[cast.workspace.slug]),
        {"files": SimpleUploadedFile("b.txt", b"b")},
        headers={"hx-request": "true"},
    )

    assert_problem(by_api, 409, "quota_documents")
    assert by_page.status_code == 409
    assert "The file was not added" in by_page.content.decode()
    with access.in_workspace(cast.workspace.pk):
        assert Document.objects.in_workspace(cast.workspace).count() == 1


def test_of_several_files_those_that_fit_are_kept(cast: rows.Cast, settings: Any, media: Path):
    settings.MAX_DOCUMENTS = 2
    files = [SimpleUploadedFile(f"{name}.txt", name.encode()) for name in "abc"]

    response = client(cast.alice).post(
        address(cast.workspace, "documents/"), {"file": files}, format="multipart"
    )

    found = response.json()["documents"]
    assert [one["outcome"] for one in found] == ["added", "added", "refused"]
    assert found[2]["problem"]["code"] == "quota_documents"
    assert files_in(media) == 2


@pytest.mark.django_db(transaction=True)
def test_two_uploads_at_once_do_not_both_take_the_last_place(
    cast: rows.Cast, settings: Any, media: Path
):
    settings.MAX_DOCUMENTS = 1

    done = at_once(*(lambda n=n: upload(cast.workspace, b"%d" % n) for n in range(4)))

    assert sorted(type(one).__name__ for one in done) == ["Document", *["QuotaError"] * 3]
    assert files_in(media) == 1


# --- questions ------------------------------------------------------------------------------------
def test_a_person_has_no_more_questions_answered_at_once_than_allowed(
    cast: rows.Cast, settings: Any
):
    settings.MAX_QUESTIONS_OF_PERSON = 2
    first = ask(cast.workspace, cast.bob)
    ask(cast.workspace, cast.bob)

    with pytest.raises(LimitError, match="2 of your questions") as refused:
        ask(cast.workspace, cast.bob)

    assert refused.value.code == "questions_in_flight"
    assert refused.value.retry_after > 0
    ask(cast.workspace, cast.alice)
    asking.answer_stop(workspace=cast.workspace, user=cast.bob, answer_id=first.pk)
    ask(cast.workspace, cast.bob)


def test_a_workspace_has_no_more_questions_answered_at_once_than_allowed(
    cast: rows.Cast, settings: Any
):
    settings.MAX_QUESTIONS_OF_WORKSPACE = 2
    ask(cast.workspace, cast.bob)
    ask(cast.workspace, None)

    with pytest.raises(LimitError, match="2 questions are being answered here"):
        ask(cast.workspace, cast.alice)
    with access.in_workspace(cast.workspace.pk):
        assert Question.objects.in_workspace(cast.workspace).count() == 2
    ask(rows.make_workspace("Elsewhere", owner=cast.alice), cast.alice)


def test_asking_again_counts_too(cast: rows.Cast, settings: Any):
    settings.MAX_QUESTIONS_OF_PERSON = 1
    answer = ask(cast.workspace, cast.bob)

    with pytest.raises(LimitError):
        asking.answer_again(workspace=cast.workspace, user=cast.bob, question_id=answer.question_id)


def test_the_api_and_the_page_say_when_to_ask_again(cast: rows.Cast, settings: Any):
    settings.MAX_QUESTIONS_OF_PERSON = 1
    ask(cast.workspace, cast.bob)
    browser = Client()
    browser.force_login(cast.bob)

    by_api = client(cast.bob).post(address(cast.workspace, "questions/"), {"question": "Who?"})
    by_page = browser.post(
        reverse("retrieval:ask", args=[cast.workspace.slug]), {"question": "Who keeps it?"}
    )

    assert_problem(by_api, 429, "questions_in_flight")
    assert by_api.headers["Retry-After"] == "5"
    assert "1 of your questions are being answered" in by_page.content.decode()
    assert "Who keeps it?" in by_page.content.decode()


@pytest.mark.django_db(transaction=True)
def test_two_questions_at_once_do_not_both_take_the_last_place(cast: rows.Cast, settings: Any):
    settings.MAX_QUESTIONS_OF_PERSON = 1

    done = at_once(*(lambda: ask(cast.workspace, cast.bob) for _ in range(4)))

    assert sorted(type(one).__name__ for one in done) == ["Answer", *["LimitError"] * 3]
    with access.in_workspace(cast.workspace.pk):
        waiting = Answer.objects.in_workspace(cast.workspace).filter(state=AnswerState.QUEUED)
        assert waiting.count() == 1


# --- workspaces -----------------------------------------------------------------------------------
def test_a_person_creates_no_more_workspaces_than_allowed(settings: Any):
    settings.MAX_WORKSPACES_OF_PERSON = 2
    alice, bob = rows.make_user("Alice"), rows.make_user("Bob")
    first = create("One", alice)
    create("Two", alice)

    response = client(alice).post("/api/v1/workspaces/", {"name": "Three"})

    problem = assert_problem(response, 409, "quota_workspaces")
    assert problem["kept"] == "No workspace was created."
    # To be a member of others takes nothing, and a command's belongs to no one.
    people_services.member_add(
        workspace=rows.make_workspace("Bobs", owner=bob), user=alice, role=Role.VIEWER
    )
    create("Four", None)
    with access.in_workspace(first.pk):
        Workspace.objects.filter(pk=first.pk).update(created_by=None)
    create("Five", alice)


@pytest.mark.django_db(transaction=True)
def test_two_workspaces_at_once_do_not_both_take_the_last_place(settings: Any):
    settings.MAX_WORKSPACES_OF_PERSON = 1
    alice = rows.make_user("Alice")

    done = at_once(*(lambda n=n: create(f"Place {n}", alice) for n in range(4)))

    assert sorted(type(one).__name__ for one in done) == [*["QuotaError"] * 3, "Workspace"]


# --- what people see ------------------------------------------------------------------------------
def test_the_usage_page_and_the_api_show_what_is_used(cast: rows.Cast, settings: Any):
    settings.MAX_DOCUMENTS, settings.MAX_STORED_BYTES = 4, 0
    upload(cast.workspace, b"x" * 2048)
    ask(cast.workspace, cast.bob)
    browser = Client()
    browser.force_login(cast.bob)

    page = browser.get(reverse("workspaces:usage", args=[cast.workspace.slug])).content.decode()
    found = client(cast.bob).get(address(cast.workspace, "usage/")).json()["quotas"]

    assert found == [
        {"name": "storage", "used": 2048, "limit": None},
        {"name": "documents", "used": 1, "limit": 4},
        {"name": "questions", "used": 1, "limit": 500},
        {"name": "own_questions", "used": 1, "limit": 100},
    ]
    assert "2.0\xa0KB" in page
    assert "25 %" in page
    assert "no limit" in page
