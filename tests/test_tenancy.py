"""Every workspace is alone in the tables. Who may call what is in tests/authorization."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import IntegrityError, ProgrammingError, models, transaction
from django.test import Client
from django.urls import reverse

from ingestion.models import (
    Chunk,
    Document,
    DocumentVersion,
    Entity,
    Mention,
)
from kb_project.sql import run_sql
from retrieval.models import (
    Question,
)
from tests import rows
from workspaces import access
from workspaces.models import Membership, Workspace
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
# The first two columns of every index; of partial ones, only of those that leave out nulls.
INDEXED_PAIRS: LiteralString = """
SELECT t.relname, array_agg(a.attname::text ORDER BY u.place)
  FROM pg_index AS x JOIN pg_class AS t ON t.oid = x.indrelid
 CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY AS u (attnum, place)
  JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = u.attnum
 WHERE t.relname = ANY(%s) AND u.place <= 2
   AND (x.indpred IS NULL OR pg_get_expr(x.indpred, t.oid) LIKE '%%IS NOT NULL)')
 GROUP BY t.relname, x.indexrelid
"""
# Foreign keys that begin with the workspace and hold no null: what they reference.
TIED_TO: LiteralString = """
SELECT t.relname, f.relname
  FROM pg_constraint AS k
  JOIN pg_class AS t ON t.oid = k.conrelid JOIN pg_class AS f ON f.oid = k.confrelid
 WHERE k.contype = 'f' AND t.relname = ANY(%s) AND t.relname <> f.relname
   AND NOT EXISTS (SELECT FROM pg_attribute AS a
                    WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
                      AND NOT a.attnotnull)
   AND EXISTS (SELECT FROM pg_attribute AS a
                WHERE a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
                  AND a.attname = 'workspace_id')
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


def test_no_row_can_be_in_a_workspace_that_does_not_exist():
    """By its own constraint, or by that of a row that it cannot do without."""
    tied = {"workspaces_workspace"}
    references = run_sql(TIED_TO, [tenant_tables()])
    while more := {table for table, other in references if other in tied} - tied:
        tied |= more

    assert set(tenant_tables()) - tied == set()


def test_what_refers_to_a_document_or_to_what_is_read_in_it_is_found_by_an_index():
    """Deleting a row looks for every row that refers to it."""
    tables = [model._meta.db_table for model in tenant_models()]
    starts = {(table, tuple(columns)) for table, columns in run_sql(INDEXED_PAIRS, [tables])}
    read = {model._meta.db_table for model in (Document, DocumentVersion, Chunk, Entity)}

    missing = [
        name
        for table, name, other, columns in run_sql(FOREIGN_KEYS, [tables])
        if other in read and (table, tuple(columns)) not in starts
    ]

    assert missing == []


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
