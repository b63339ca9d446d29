"""Every workspace is alone: in the tables, in the addresses, in both at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, LiteralString
from uuid import uuid4

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, ProgrammingError, models, transaction
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse
from django.utils import timezone

from ingestion.documents import services
from ingestion.models import (
    Chunk,
    Document,
    DocumentVersion,
    Entity,
    EventKind,
    HistoryEvent,
    Mention,
    ResolutionDecision,
    Verdict,
)
from kb_project.sql import run_sql
from retrieval.models import (
    Answer,
    EvaluationResult,
    EvaluationRun,
    Question,
    QuestionSet,
    SetQuestion,
)
from tests import rows
from workspaces import access
from workspaces.models import Invitation, Membership, Workspace, WorkspaceExport
from workspaces.models.people import TenantQuerySet

pytestmark = pytest.mark.django_db

# Every table with a workspace's rows, partitions too: whether row security holds for its owner.
TENANT_TABLES: LiteralString = """
SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity,
       EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid)
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
 WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')
   AND EXISTS (SELECT FROM pg_attribute AS a
                WHERE a.attrelid = c.oid AND a.attname = 'workspace_id' AND NOT a.attisdropped)
"""
# The first column of every index of such a table.
INDEX_STARTS: LiteralString = """
SELECT t.relname, i.relname, x.indisunique, a.attname
  FROM pg_index AS x
  JOIN pg_class AS t ON t.oid = x.indrelid JOIN pg_class AS i ON i.oid = x.indexrelid
  LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = x.indkey[0]
 WHERE t.relname = ANY(%s)
"""
# Foreign keys between tables of workspaces: the columns they compare.
FOREIGN_KEYS: LiteralString = """
SELECT t.relname, k.conname, f.relname,
       (SELECT array_agg(a.attname::text ORDER BY u.place)
          FROM unnest(k.conkey) WITH ORDINALITY AS u (attnum, place)
          JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = u.attnum)
  FROM pg_constraint AS k
  JOIN pg_class AS t ON t.oid = k.conrelid JOIN pg_class AS f ON f.oid = k.confrelid
 WHERE k.contype = 'f' AND t.relname = ANY(%s)
"""


# --- the tables -----------------------------------------------------------------------------------
def tenant_tables() -> list[str]:
    return [name for name, *_ in run_sql(TENANT_TABLES)]


def tenant_models() -> list[type[models.Model]]:
    return [
        model
        for model in apps.get_models()
        if any(field.name == "workspace" for field in model._meta.get_fields())
    ]


def test_row_security_is_enabled_and_forced_on_every_table():
    open_tables = [
        name
        for name, is_forced, policies in run_sql(TENANT_TABLES)
        if not is_forced or not policies
    ]

    assert open_tables == []


def test_every_model_with_a_workspace_is_such_a_table():
    assert {model._meta.db_table for model in tenant_models()} <= set(tenant_tables())


def test_every_unique_key_starts_with_the_workspace():
    starts = run_sql(INDEX_STARTS, [tenant_tables()])

    assert [row[:2] for row in starts if row[2] and row[3] != "workspace_id"] == []


def test_every_other_index_starts_with_the_workspace_or_names_a_person():
    starts = run_sql(INDEX_STARTS, [tenant_tables()])

    others = {row[3] for row in starts if row[3] != "workspace_id"}
    people = {"user_id", "added_by_id", "asked_by_id", "requested_by_id"}
    assert others <= people | {"undone_by_id", "trashed_by_id"}


def test_every_foreign_key_between_tenants_compares_the_workspace_too():
    tables = tenant_tables()

    plain = [
        row[:3]
        for row in run_sql(FOREIGN_KEYS, [tables])
        if row[2] in tables and row[3][0] != "workspace_id"
    ]

    assert plain == []


def test_no_row_is_seen_without_a_workspace():
    cast = rows.make_cast()
    rows.make_document(cast.workspace, "Log", "Ada Lind.", names={"Ada Lind": "PERSON"})
    access.set_scope(workspace_id=None)

    seen = {model.__name__ for model in tenant_models() if all_rows(model).exists()}

    assert seen == set()


def test_no_row_of_another_workspace_is_seen():
    mine, theirs = rows.make_workspace("Mine"), rows.make_workspace("Theirs")
    rows.make_document(theirs, "Log", "Ada Lind.", names={"Ada Lind": "PERSON"})

    with access.in_workspace(mine.pk):
        seen = {
            model.__name__
            for model in tenant_models()
            if all_rows(model).exclude(workspace_id=mine.pk).exists()
        }
    with access.in_workspace(theirs.pk):
        there = {model.__name__ for model in tenant_models() if all_rows(model).exists()}

    assert seen == set()
    assert {"Document", "Chunk", "Posting", "Entity", "Mention"} <= there


def all_rows(model: type[models.Model]) -> TenantQuerySet[Any]:
    """What a query that forgot the door would see: the second lock alone."""
    queryset: TenantQuerySet[Any] = model._default_manager.all()  # type: ignore[assignment]  # ours
    return queryset


def test_a_person_sees_their_own_memberships_and_no_others():
    cast = rows.make_cast()

    with access.as_person(cast.bob):
        seen = list(Membership.objects.values_list("user__name", flat=True))

    assert seen == ["Bob"]


@pytest.mark.parametrize("model", [Document, Entity, Question])
def test_no_row_is_written_into_another_workspace(model: type[models.Model]):
    mine, theirs = rows.make_workspace("Mine"), rows.make_workspace("Theirs")

    with (
        pytest.raises(ProgrammingError, match="row-level security"),
        access.in_workspace(mine.pk),
    ):
        model._default_manager.create(workspace=theirs, **_needed(model))


def _needed(model: type[models.Model]) -> dict[str, Any]:
    values: dict[str, dict[str, Any]] = {
        "Document": {"title": "x", "name": "x", "size": 1, "sha256": "x"},
        "Entity": {"key": "x", "name": "x", "type": "PERSON"},
        "Question": {"text": "x", "mode": "walk"},
    }
    return values[model.__name__]


def test_no_row_names_a_row_of_another_workspace():
    mine, theirs = rows.make_workspace("Mine"), rows.make_workspace("Theirs")
    foreign = rows.make_document(theirs, "Log", "Ada Lind.")

    with pytest.raises(IntegrityError, match="tenant_fk"):
        add_version(mine, foreign)


@transaction.atomic
def add_version(workspace: Workspace, document: Document) -> None:
    with access.in_workspace(workspace.pk):
        DocumentVersion.objects.create(workspace=workspace, document_id=document.pk, blob="x")
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")


def test_an_id_that_exists_elsewhere_can_be_used_here():
    mine, theirs = rows.make_workspace("Mine"), rows.make_workspace("Theirs")
    pk = uuid4()

    for workspace in (mine, theirs):
        with access.in_workspace(workspace.pk):
            Entity.objects.create(pk=pk, workspace=workspace, key="x", name="x", type="PERSON")

    with access.in_workspace(mine.pk):
        assert Entity.objects.in_workspace(mine).count() == 1


def test_deleting_a_document_takes_what_hangs_on_it():
    workspace = rows.make_workspace()
    document = rows.make_document(workspace, "Log", "Ada Lind.", names={"Ada Lind": "PERSON"})

    with access.in_workspace(workspace.pk):
        Document.objects.in_workspace(workspace).filter(pk=document.pk)._raw_delete("default")
        left = [model for model in (Chunk, Mention) if model.objects.in_workspace(workspace)]

    assert left == []


# --- the addresses --------------------------------------------------------------------------------
@pytest.fixture
def house(media: Any, fake_embedder: None) -> tuple[rows.Cast, dict[str, Any]]:
    """A workspace with one of everything, and the ids an address may hold."""
    cast = rows.make_cast()
    document = rows.make_document(cast.workspace, "Log", "Ada Lind keeps the light of Skarrow.")
    ada = rows.make_mentions(cast.workspace, rows.chunks_of(document), "Ada Lind")
    report = rows.make_report(cast.workspace, "The light", [ada], rows.chunks_of(document))
    skarrow = rows.make_mentions(cast.workspace, rows.chunks_of(document), "Skarrow", "PLACE")
    link = rows.make_relationship(ada, skarrow, rows.chunks_of(document)[0], "keeps")
    with access.in_workspace(cast.workspace.pk):
        question = Question.objects.create(workspace=cast.workspace, text="Who?", mode="walk")
        answer = Answer.objects.create(
            workspace=cast.workspace, question=question, is_supported=False
        )
        questions = QuestionSet.objects.create(workspace=cast.workspace, name="Lights")
        asked = SetQuestion.objects.create(
            # Both kinds of questions are "question_id" in their addresses.
            pk=question.pk,
            workspace=cast.workspace,
            question_set=questions,
            ordinal=1,
            text="Who?",
        )
        run = EvaluationRun.objects.create(workspace=cast.workspace, question_set=questions)
        result = EvaluationResult.objects.create(
            workspace=cast.workspace, run=run, question=asked, mode="walk"
        )
        decision = ResolutionDecision.objects.create(
            workspace=cast.workspace, left_key="ada", verdict=Verdict.SAME
        )
        services.document_upload(
            workspace=cast.workspace, file=SimpleUploadedFile("a.txt", b"Oil."), name="a.txt"
        )
        event = HistoryEvent.objects.create(
            workspace=cast.workspace, sequence=99, kind=EventKind.ENTITY_EDITED
        )
        member = Membership.objects.in_workspace(cast.workspace).get(user=cast.bob)
        digest = "0" * 64
        invitation = Invitation.objects.create(
            workspace=cast.workspace, role="viewer", token_hash=digest, expires_at=timezone.now()
        )
        export = WorkspaceExport.objects.create(workspace=cast.workspace)
    ids = {
        "workspace_id": cast.workspace.slug,
        "member_id": member.pk,
        "invitation_id": invitation.pk,
        "export_id": export.pk,
        "document_id": document.pk,
        "entity_id": ada.pk,
        "community_id": report.community_id,
        "decision_id": decision.pk,
        "event_id": event.pk,
        "relationship_id": link.pk,
        "question_id": question.pk,
        "answer_id": answer.pk,
        "set_id": questions.pk,
        "run_id": run.pk,
        "result_id": result.pk,
        "token_id": rows.make_token(cast.workspace, cast.alice)[0].pk,
        "number": 1,
        "name": "tags",
    }
    return cast, ids


def addresses() -> list[tuple[str, tuple[str, ...]]]:
    """The name of every address that holds a workspace, and all it holds."""
    return sorted(set(_below("", get_resolver(), ())))


def _below(
    prefix: str, resolver: URLResolver, outer: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for entry in resolver.url_patterns:
        inside = (*outer, *entry.pattern.converters)
        if isinstance(entry, URLResolver):
            space = f"{prefix}{entry.namespace}:" if entry.namespace else prefix
            yield from _below(space, entry, inside)
        elif "workspace_id" in inside:
            assert entry.name, f"an address below {prefix} has no name"
            yield f"{prefix}{entry.name}", inside


def address_of(name: str, parts: tuple[str, ...], ids: dict[str, Any]) -> str:
    """The address of that name with real ids; fails for a part that has none above."""
    missing = set(parts) - set(ids)
    assert not missing, f"{name} holds {missing}: give this test an id for it"
    return reverse(name, kwargs={part: ids[part] for part in parts})


def test_the_walk_finds_pages_and_api():
    found = {name for name, _ in addresses()}

    assert {"ingestion:document_detail", "ingestion_api:document", "retrieval_api:ask"} <= set(
        found
    )


def test_a_stranger_finds_nothing_at_any_address(house: tuple[rows.Cast, dict[str, Any]]):
    cast, ids = house
    stranger = Client()
    stranger.force_login(cast.charlie)
    found = {}

    for name, parts in addresses():
        address = address_of(name, parts, ids)
        tries = (stranger.get, stranger.post, stranger.delete)
        answers = {attempt(address).status_code for attempt in tries}
        if 404 not in answers or not answers <= {404, 405}:
            found[name] = answers

    assert found == {}


def test_no_address_opens_without_signing_in(house: tuple[rows.Cast, dict[str, Any]]):
    _, ids = house
    found = {}

    for name, parts in addresses():
        address = address_of(name, parts, ids)
        for response in (Client().get(address), Client().post(address)):
            signs_in = "/accounts/login/" in response.headers.get("Location", "")
            if not (
                response.status_code in {401, 405} or (response.status_code == 302 and signs_in)
            ):
                found[name] = response.status_code

    assert found == {}


@pytest.mark.parametrize(("name", "parts"), addresses())
def test_a_member_finds_something_where_a_stranger_does_not(
    name: str, parts: tuple[str, ...], house: tuple[rows.Cast, dict[str, Any]]
):
    cast, ids = house
    owner = Client()
    owner.force_login(cast.alice)

    response = owner.get(address_of(name, parts, ids))

    # A text has no pictures of its pages; what only takes POST says so.
    assert response.status_code == (404 if name == "ingestion:page_picture" else 200) or (
        response.status_code in {302, 400, 405, 409}
    )


def test_a_workspace_that_does_not_exist_answers_as_a_foreign_one():
    charlie = rows.make_user("Charlie")
    foreign = rows.make_workspace("Harbour")
    stranger = Client()
    stranger.force_login(charlie)

    pages = [
        stranger.get(reverse("ingestion_api:document_list", args=[name])).json()["sentence"]
        for name in (foreign.slug, str(foreign.pk), "nowhere", str(uuid4()))
    ]

    assert len(set(pages)) == 1
    assert Workspace.objects.count() == 1
