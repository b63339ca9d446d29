from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.db import ProgrammingError, transaction
from pgvector import HalfVector
from psycopg import sql

from ingestion.models import Collection, Entity, GraphTombstone, Relationship
from kb_project.sql import bulk_plans, copy_into, run_sql, run_sql_count, temporary_rows
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    made = Workspace.objects.create(name="Rows", slug="rows")
    access.set_scope(workspace_id=made.pk)
    return made


def test_a_query_answers_with_its_rows():
    assert run_sql("SELECT %s::int + 1, %s::text", [1, "x' --"]) == [(2, "x' --")]


def test_values_can_be_named():
    assert run_sql("SELECT %(a)s::int[]", {"a": [1, 2]}) == [([1, 2],)]


def test_names_of_tables_are_put_in_quoted():
    named = sql.SQL("SELECT id FROM {} WHERE name = %(name)s").format(
        sql.Identifier("workspaces_workspace")
    )
    gone = sql.SQL("DELETE FROM {}").format(sql.Identifier('no "such" table'))

    assert run_sql(named, {"name": "nobody's"}) == []
    with (
        pytest.raises(ProgrammingError, match='"no "such" table" does not exist'),
        transaction.atomic(),
    ):
        run_sql_count(gone)


def test_a_statement_without_rows_answers_with_none():
    assert run_sql("SELECT set_config('app.user_id', '', true) WHERE false") == []


def test_a_count_says_how_many_rows_were_touched(workspace: Workspace):
    Collection.objects.create(workspace=workspace, name="A")
    Collection.objects.create(workspace=workspace, name="B")

    touched = run_sql_count("UPDATE ingestion_collection SET name = name || %s", ["!"])

    assert touched == 2


def test_many_rows_are_copied_into_a_protected_table(workspace: Workspace):
    rows = [(uuid4(), workspace.pk, f"Shelf {number}\t\\N 架") for number in range(500)]

    written = copy_into(
        "ingestion_collection", {"id": "uuid", "workspace_id": "uuid", "name": "text"}, rows
    )

    assert written == 500
    stored = Collection.objects.in_workspace(workspace).values_list("id", "workspace_id", "name")
    assert set(stored) == set(rows)


def test_copying_twice_in_one_transaction_works(workspace: Workspace):
    columns = {"id": "uuid", "workspace_id": "uuid"}
    for _ in range(2):
        copy_into("ingestion_graphtombstone", columns, [(uuid4(), workspace.pk)])

    assert GraphTombstone.objects.in_workspace(workspace).count() == 2


def test_rows_of_another_workspace_are_refused(workspace: Workspace):
    other = Workspace.objects.create(name="Other", slug="other")

    with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
        copy_into(
            "ingestion_graphtombstone",
            {"id": "uuid", "workspace_id": "uuid"},
            [(uuid4(), other.pk)],
        )


def test_nothing_to_copy_is_no_error(workspace: Workspace):
    assert copy_into("ingestion_graphtombstone", {"id": "uuid", "workspace_id": "uuid"}, []) == 0


def test_temporary_rows_are_there_inside_the_block_only():
    with temporary_rows("wanted", {"id": "int4", "name": "text"}, [(1, "a"), (2, None)]) as count:
        assert count == 2
        assert run_sql("SELECT id, name FROM wanted ORDER BY id") == [(1, "a"), (2, None)]

    with pytest.raises(ProgrammingError), transaction.atomic():
        run_sql("SELECT 1 FROM wanted")


def test_vectors_are_copied_as_vectors():
    rows = [(1, HalfVector([0.5, -1.0]))]

    with temporary_rows("vectors", {"id": "int4", "value": "halfvec"}, rows):
        assert run_sql("SELECT value::text FROM vectors") == [("[0.5,-1]",)]


def test_bulk_plans_join_without_nested_loops_and_end_with_their_block():
    with bulk_plans():
        assert run_sql("SHOW enable_nestloop") == [("off",)]

    assert run_sql("SHOW enable_nestloop") == [("on",)]


# --- lookups --------------------------------------------------------------------------------------

MORE_THAN_PARAMETERS = 70_000


def test_rows_are_found_among_more_values_than_a_statement_has_parameters():
    workspace = rows.make_workspace()
    ada, bo = (rows.make_entity(workspace, name) for name in ("Ada Lind", "Bo Strand"))
    many: list[UUID] = [*(uuid4() for _ in range(MORE_THAN_PARAMETERS)), ada.pk]

    with access.in_workspace(workspace.pk):
        entities = Entity.objects.in_workspace(workspace)
        assert entities.filter(pk__among=many).get() == ada
        assert entities.exclude(pk__among=many).get() == bo
        assert entities.filter(key__among={"bo strand", "cy"}).get() == bo
        assert not entities.filter(pk__among=[]).exists()


def test_a_reference_is_compared_by_its_id():
    workspace = rows.make_workspace()
    ada, bo = (rows.make_entity(workspace, name) for name in ("Ada Lind", "Bo Strand"))
    with access.in_workspace(workspace.pk):
        link = Relationship.objects.create(workspace=workspace, source=ada, target=bo)
        links = Relationship.objects.in_workspace(workspace)

        assert links.filter(source__among=[ada.pk]).get() == link
        assert not links.filter(target__among=[ada.pk]).exists()
