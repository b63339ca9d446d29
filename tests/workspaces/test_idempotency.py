from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections, transaction
from django.http import QueryDict
from django.utils import timezone
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from kb_project.errors import ConflictError
from tests import rows
from tests.patience import PATIENCE
from workspaces import access, sql
from workspaces.idempotency import LONGEST_KEY, REPLAYED, ApiRequest, forget_old_answers, once
from workspaces.models import StoredReply, User, Workspace

KEY = "a-key-1"
BODY = {"name": "Acme", "tags": ["b", "a"]}


class Counted(APIView):
    """Counts how often it is carried out; refuses while it is told to."""

    done: ClassVar[list[Any]] = []
    refuses = False
    entered: threading.Event | None = None
    goes_on: threading.Event | None = None

    @once
    def post(self, request: ApiRequest, workspace_id: str) -> Response:
        access.workspace_for_curating(user=request.user, workspace_id=workspace_id)
        self.done.append(request.data)
        if self.entered and self.goes_on:
            self.entered.set()
            self.goes_on.wait(PATIENCE)
        if self.refuses:
            raise ConflictError("Not now.")
        return Response({"number": len(self.done)}, 201, headers={"ETag": '"3"', "X-Other": "1"})


@pytest.fixture
def done() -> list[Any]:
    return []


def send(
    done: list[Any],
    user: User,
    workspace: Workspace | str,
    body: Any = None,
    key: str | None = KEY,
    **view: Any,
) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    form = "multipart" if isinstance(body, QueryDict | dict) and _has_file(body) else "json"
    request = APIRequestFactory().post(
        "/things/", BODY if body is None else body, format=form, headers=headers
    )
    force_authenticate(request, user)
    workspace_id = workspace if isinstance(workspace, str) else str(workspace.pk)
    with transaction.atomic():  # as every request has one
        handle = Counted.as_view(done=done, **view)
        return handle(request, workspace_id=workspace_id)


def _has_file(body: Any) -> bool:
    return any(isinstance(value, SimpleUploadedFile) for value in body.values())


def stored(workspace: Workspace) -> list[StoredReply]:
    with access.in_workspace(workspace.pk):
        return list(StoredReply.objects.in_workspace(workspace))


@pytest.mark.django_db
def test_the_same_request_is_carried_out_once(done: list[Any]):
    cast = rows.make_cast()

    first, again = [send(done, cast.alice, cast.workspace) for _ in range(2)]

    assert len(done) == 1
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.data == again.data == {"number": 1}
    assert (again["ETag"], again[REPLAYED]) == ('"3"', "true")
    assert REPLAYED not in first
    assert "X-Other" not in again


@pytest.mark.django_db
def test_without_a_key_it_is_carried_out_as_often_as_it_is_sent(done: list[Any]):
    cast = rows.make_cast()

    for _ in range(2):
        send(done, cast.alice, cast.workspace, key=None)

    assert len(done) == 2
    assert stored(cast.workspace) == []


@pytest.mark.django_db
def test_the_order_of_names_in_a_body_says_nothing(done: list[Any]):
    cast = rows.make_cast()

    send(done, cast.alice, cast.workspace, {"a": 1, "b": 2})
    send(done, cast.alice, cast.workspace, {"b": 2, "a": 1})

    assert len(done) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("other", [{"name": "Acme"}, {}, [], {"name": "Acme", "tags": ["a", "b"]}])
def test_a_key_is_not_for_two_requests(done: list[Any], other: Any):
    cast = rows.make_cast()
    send(done, cast.alice, cast.workspace)

    refused = send(done, cast.alice, cast.workspace, other)

    assert (refused.status_code, refused.data["code"]) == (409, "idempotency_key_reused")
    assert len(done) == 1


@pytest.mark.django_db
def test_files_are_told_apart_by_what_is_in_them(done: list[Any]):
    cast = rows.make_cast()

    def file(content: bytes) -> dict[str, Any]:
        return {"title": "Log", "file": SimpleUploadedFile("log.txt", content)}

    answers = [
        send(done, cast.alice, cast.workspace, file(one)).status_code
        for one in (b"oil", b"oil", b"ink")
    ]

    assert answers == [201, 201, 409]
    assert len(done) == 1
    assert done[0]["file"].read() == b"oil"


@pytest.mark.django_db
def test_what_failed_may_be_sent_again(done: list[Any]):
    cast = rows.make_cast()

    failed = send(done, cast.alice, cast.workspace, refuses=True)
    again = send(done, cast.alice, cast.workspace)

    assert (failed.status_code, again.status_code) == (409, 201)
    assert len(done) == 2


@pytest.mark.django_db
def test_a_key_is_one_persons_in_one_workspace(done: list[Any]):
    cast = rows.make_cast()
    elsewhere = rows.make_workspace("Elsewhere", owner=cast.alice)

    send(done, cast.alice, cast.workspace)
    send(done, cast.alice, elsewhere)

    assert len(done) == 2


@pytest.mark.django_db
def test_a_stranger_learns_nothing_of_keys(done: list[Any]):
    cast = rows.make_cast()
    send(done, cast.alice, cast.workspace)

    answers = [
        send(done, cast.charlie, where) for where in (cast.workspace, str(UUID(int=1)), "nowhere")
    ]

    assert [(one.status_code, one.data["code"]) for one in answers] == [(404, "not_found")] * 3


@pytest.mark.django_db
def test_a_reader_is_refused_and_nothing_is_stored(done: list[Any]):
    cast = rows.make_cast()

    assert send(done, cast.bob, cast.workspace).status_code == 403
    assert stored(cast.workspace) == []


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", " ", "a b", "ä", "x" * (LONGEST_KEY + 1), "a\tb"])
def test_a_key_is_visible_ascii(done: list[Any], key: str):
    cast = rows.make_cast()

    refused = send(done, cast.alice, cast.workspace, key=key)

    assert (refused.status_code, refused.data["code"]) == (400, "idempotency_key_invalid")
    assert done == []


@pytest.mark.django_db
def test_answers_are_forgotten_after_a_day(done: list[Any]):
    cast = rows.make_cast()
    send(done, cast.alice, cast.workspace)
    with access.in_workspace(cast.workspace.pk):
        old = timezone.now() - timedelta(hours=25)
        StoredReply.objects.in_workspace(cast.workspace).update(created_at=old)

    send(done, cast.alice, cast.workspace, key="another")

    assert [one.key for one in stored(cast.workspace)] == ["another"]


@pytest.mark.django_db
def test_every_night_answers_are_forgotten_where_nobody_asks_any_more(done: list[Any]):
    cast = rows.make_cast()
    other = rows.make_workspace("Elsewhere", owner=cast.alice)
    old = timezone.now() - timedelta(hours=25)
    for workspace in (cast.workspace, other):
        send(done, cast.alice, workspace, key="old")
        send(done, cast.alice, workspace, key="young")
        with access.in_workspace(workspace.pk):
            rows_of = StoredReply.objects.in_workspace(workspace)
            rows_of.filter(key="old").update(created_at=old)

    forget_old_answers()

    for workspace in (cast.workspace, other):
        assert [one.key for one in stored(workspace)] == ["young"]


# --- at the same time -----------------------------------------------------------------------------
class Beside(threading.Thread):
    """A request in a thread of its own."""

    def __init__(self, *args: Any, **view: Any) -> None:
        super().__init__()
        self.what = (args, view)
        self.response: Any = None

    def run(self) -> None:
        args, view = self.what
        try:
            self.response = send(*args, **view)
        finally:
            connections.close_all()


def two_at_once(done: list[Any], *, refuses: bool, waits: float) -> tuple[Any, Any]:
    cast = rows.make_cast()
    entered, goes_on = threading.Event(), threading.Event()
    first = Beside(
        done, cast.alice, cast.workspace, entered=entered, goes_on=goes_on, refuses=refuses
    )
    second = Beside(done, cast.alice, cast.workspace)
    first.start()
    assert entered.wait(PATIENCE)
    second.start()
    second.join(waits)
    goes_on.set()
    for thread in (first, second):
        thread.join()
    return first.response, second.response


@pytest.mark.django_db(transaction=True)
def test_a_repetition_waits_for_the_first_and_gets_its_answer(done: list[Any]):
    first, second = two_at_once(done, refuses=False, waits=0.5)

    assert len(done) == 1
    assert (first.status_code, second.status_code) == (201, 201)
    assert second[REPLAYED] == "true"


@pytest.mark.django_db(transaction=True)
def test_it_is_carried_out_where_the_first_fails(done: list[Any]):
    first, second = two_at_once(done, refuses=True, waits=0.5)

    assert (first.status_code, second.status_code, len(done)) == (409, 201, 2)


@pytest.mark.django_db(transaction=True)
def test_it_does_not_wait_for_ever(done: list[Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sql, "WAIT_BRIEFLY", "SET LOCAL lock_timeout = '100ms'")

    first, second = two_at_once(done, refuses=False, waits=PATIENCE)

    assert (first.status_code, second.status_code) == (201, 409)
    assert second.data["code"] == "in_progress"
    assert len(done) == 1
