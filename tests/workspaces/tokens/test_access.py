"""What a request that was signed in with a token may do: never more than token and member may."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ingestion.models import HistoryEvent
from retrieval.conversations import asking
from retrieval.models import Answer, Question
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client_with
from workspaces import access
from workspaces.models import AuditEvent, Capability, Role, Workspace
from workspaces.people import services as people_services

pytestmark = pytest.mark.django_db

LIST = "/api/v1/workspaces/"


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def owner_token(cast: rows.Cast, *may: Capability) -> Any:
    return client_with(rows.make_token(cast.workspace, cast.alice, *may)[1])


def test_a_read_only_token_of_an_owner_reads_and_changes_nothing(cast: rows.Cast):
    program = owner_token(cast)

    assert program.get(address(cast.workspace, "documents/")).status_code == 200
    for path, body in [
        ("documents/retry/", {}),
        ("entities/", {"name": "Ada", "type": "PERSON"}),
        ("prices/", []),
    ]:
        send = program.put if path == "prices/" else program.post
        problem = assert_problem(
            send(address(cast.workspace, path), body, format="json"),
            403,
            "token_lacks_capability",
        )
        assert problem["happened"].startswith("The token Script (cck_")


def test_the_refusal_says_which_capability_the_token_lacks(cast: rows.Cast):
    response = owner_token(cast).post(address(cast.workspace, "documents/retry/"))

    problem = assert_problem(response, 403, "token_lacks_capability")
    assert "may not add and change documents" in problem["happened"]
    assert problem["next_step"] == "Use a token with the capability 'edit'."


def test_a_token_without_what_a_right_takes_is_named_unless_its_person_lacks_it_too(
    cast: rows.Cast,
):
    path = address(cast.workspace, "invitations/")
    bobs = client_with(rows.make_token(cast.workspace, cast.bob)[1])

    problem = assert_problem(
        owner_token(cast, Capability.OWN).get(path), 403, "token_lacks_capability"
    )

    assert problem["next_step"] == "Use a token with the capability 'administer'."
    assert assert_problem(bobs.get(path), 403, "forbidden")["next_step"] == "Ask Alice."


def test_a_token_does_what_it_was_given(cast: rows.Cast):
    program = owner_token(cast, Capability.EDIT)

    assert program.post(address(cast.workspace, "documents/retry/")).status_code == 202


def test_a_token_loses_what_its_member_loses(cast: rows.Cast):
    program = owner_token(cast, Capability.EDIT)
    people_services.member_add(workspace=cast.workspace, user=cast.alice, role=Role.VIEWER)

    response = program.post(address(cast.workspace, "documents/retry/"))

    # What the member lacks is told as to the member.
    problem = assert_problem(response, 403, "forbidden")
    assert "you are a viewer" in problem["happened"]


def test_a_token_gets_nothing_that_its_member_gets_later(cast: rows.Cast):
    _, text = rows.make_token(cast.workspace, cast.bob)
    people_services.member_add(workspace=cast.workspace, user=cast.bob, role=Role.OWNER)

    response = client_with(text).post(address(cast.workspace, "documents/retry/"))

    assert_problem(response, 403, "token_lacks_capability")


def test_a_workspace_shows_a_token_what_the_token_may(cast: rows.Cast):
    program = owner_token(cast, Capability.EDIT)

    one = program.get(address(cast.workspace, "")).json()
    [listed] = program.get(LIST).json()["results"]

    assert one["capabilities"] == listed["capabilities"] == ["read", "edit"]
    assert one["role"] == "owner"


@pytest.mark.parametrize("name", ["elsewhere", "id", "nowhere"])
def test_another_workspace_of_its_person_is_not_there_for_a_token(cast: rows.Cast, name: str):
    other = rows.make_workspace("Elsewhere", owner=cast.alice)
    program = owner_token(cast, Capability.EDIT)
    where = f"{LIST}{other.pk if name == 'id' else name}/"

    assert_nothing_there(program.get(where))
    assert_nothing_there(program.get(f"{where}documents/"))
    assert_nothing_there(program.post(f"{where}documents/retry/"))


def test_a_token_lists_its_own_workspace_only(cast: rows.Cast):
    rows.make_workspace("Elsewhere", owner=cast.alice)

    names = [row["name"] for row in owner_token(cast).get(LIST).json()["results"]]

    assert names == ["Harbour"]


def test_a_token_creates_no_workspace(cast: rows.Cast):
    program = owner_token(cast, *list(Capability))

    response = program.post(LIST, {"name": "Second"})

    assert_problem(response, 403, "token_in_workspace_only")
    assert Workspace.objects.count() == 1


def test_a_token_reads_the_schema(cast: rows.Cast):
    assert owner_token(cast).get("/api/v1/schema/").status_code == 200


def test_a_token_opens_no_page(cast: rows.Cast):
    response = owner_token(cast).get(f"/w/{cast.workspace.slug}/documents/")

    assert response.status_code == 302
    assert "/accounts/login/" in response.headers["Location"]


def test_a_read_only_token_of_an_admin_does_not_stop_anothers_answer(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        question = Question.objects.create(
            workspace=cast.workspace, text="Who?", mode="walk", asked_by=cast.bob
        )
        answer = Answer.objects.create(
            workspace=cast.workspace, question=question, state="queued", trace={}
        )
    where = address(cast.workspace, f"answers/{answer.pk}/stop/")

    refused = owner_token(cast).post(where)
    allowed = owner_token(cast, Capability.ADMINISTER).post(where)

    assert_problem(refused, 403, "forbidden")
    assert allowed.json()["state"] == "stopped"


def test_a_read_only_token_asks(cast: rows.Cast):
    response = owner_token(cast).post(address(cast.workspace, "questions/"), {"question": "Who?"})

    assert response.status_code == 202
    with access.in_workspace(cast.workspace.pk):
        [asked] = Question.objects.in_workspace(cast.workspace)
    assert asked.asked_by == cast.alice


def test_the_log_names_the_token_and_never_its_secret(
    cast: rows.Cast, caplog: pytest.LogCaptureFixture
):
    token, text = rows.make_token(cast.workspace, cast.alice)

    with caplog.at_level(logging.INFO):
        client_with(text).get(address(cast.workspace, "documents/"))

    finished: Any
    [finished] = [one.msg for one in caplog.records if "request_finished" in str(one.msg)]
    assert (finished["token"], finished["via"]) == (str(token), "api")
    assert finished["user_id"] == cast.alice.pk
    assert text.rpartition("_")[2] not in caplog.text


def test_the_history_names_the_token_that_added_a_document(
    cast: rows.Cast, media: Any, fake_embedder: None
):
    token, text = rows.make_token(cast.workspace, cast.alice, Capability.EDIT)

    added = client_with(text).post(
        address(cast.workspace, "documents/"),
        {"file": SimpleUploadedFile("a.txt", b"Oil.")},
        format="multipart",
    )

    assert added.status_code == 202, added.json()
    with access.in_workspace(cast.workspace.pk):
        [event] = HistoryEvent.objects.in_workspace(cast.workspace)
    assert (event.via, event.details["token"]) == ("api", str(token))
    [shown] = client_with(text).get(address(cast.workspace, "history/")).json()["results"]
    assert (shown["via"], shown["token"]) == ("api", str(token))


def test_the_audit_names_the_token_that_acted(cast: rows.Cast):
    acting, text = rows.make_token(cast.workspace, cast.alice, Capability.ADMINISTER)
    other, _ = rows.make_token(cast.workspace, cast.bob, name="Old")

    client_with(text).delete(address(cast.workspace, f"tokens/{other.pk}/"))

    with access.in_workspace(cast.workspace.pk):
        event = AuditEvent.objects.in_workspace(cast.workspace).get(action="token_revoked")
    assert (event.token, event.via, event.actor) == (str(acting), "api", "Alice")
    assert event.object_name == str(other)


def test_a_service_that_loads_the_membership_again_is_bound_by_the_token_too(cast: rows.Cast):
    token, _ = rows.make_token(cast.workspace, cast.alice)
    cast.alice.token = token
    with access.in_workspace(cast.workspace.pk):
        question = Question.objects.create(
            workspace=cast.workspace, text="Who?", mode="walk", asked_by=cast.bob
        )
        with pytest.raises(Exception, match="Someone else asked"):
            asking._check_whose(question, cast.alice)
