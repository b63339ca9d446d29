"""What the database does with rows that point at rows: other tenants refused, deletes followed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models
from psycopg import sql

from ingestion.models import (
    Alias,
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    Community,
    CommunityMember,
    CommunityReport,
    Document,
    DocumentVersion,
    Entity,
    Evidence,
    Finding,
    FindingEvidence,
    HistoryEvent,
    HistorySubject,
    IngestionJob,
    LaneCall,
    Mention,
    MergeSuggestion,
    Posting,
    Relationship,
    StageRun,
)
from kb_project.sql import run_sql
from tests.ingestion.models.whole import Whole, make_whole
from workspaces import access
from workspaces.models import Group, Membership, User, Workspace

pytestmark = pytest.mark.django_db

Model = type[models.Model]


def tenant_models() -> list[Model]:
    """Those with a workspace; workers must see all rows of the one without."""
    models_of = apps.get_app_config("ingestion").get_models()
    return [model for model in models_of if model is not LaneCall]


def references() -> list[tuple[Model, str, Model]]:
    """Every field that names a row of a workspace: its model, its column, what it names."""
    return [
        (model, field.column, field.related_model)
        for model in tenant_models()
        # The application may not change history at all.
        if model not in (HistoryEvent, HistorySubject)
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey)
        and not isinstance(field.related_model, str)
        # A grant names one of the two, which a check of the database holds.
        and field.related_model not in (Workspace, User, Group, Membership)
    ]


REFERENCES = references()
NAMED = [f"{model.__name__}.{column}" for model, column, _ in REFERENCES]


@pytest.fixture(scope="module")
def pair(rows_of_the_module: None) -> tuple[Whole, Whole]:
    """Two whole workspaces, made once: the database undoes what each test does to them."""
    return make_whole("Mine"), make_whole("Theirs")


@pytest.fixture
def whole(pair: tuple[Whole, Whole]) -> Whole:
    return pair[0]


def point(model: Model, column: str, whole: Whole, target: UUID) -> None:
    """Make a row of the workspace name ``target``, and have the database look at once."""
    statement = sql.SQL(
        "UPDATE {table} SET {column} = %(target)s WHERE workspace_id = %(workspace)s AND ctid ="
        " (SELECT ctid FROM {table} WHERE workspace_id = %(workspace)s LIMIT 1)"
    ).format(table=sql.Identifier(model._meta.db_table), column=sql.Identifier(column))
    values = {"target": target, "workspace": whole.workspace.pk}
    with access.in_workspace(whole.workspace.pk), connection.cursor() as cursor:
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement.as_string(cursor.connection), values)


def one_row_of(model: Model, whole: Whole) -> Any:
    found: Any = model._default_manager.filter(workspace=whole.workspace).first()
    assert found is not None, f"give the whole workspace a row of {model.__name__}"
    return found


def counts(whole: Whole, kinds: Iterable[Model]) -> dict[str, int]:
    with access.in_workspace(whole.workspace.pk):
        return {
            kind.__name__: kind._default_manager.filter(workspace=whole.workspace).count()
            for kind in kinds
        }


def delete(row: models.Model, whole: Whole) -> None:
    """Delete in the database only: nothing that Django would do along with it."""
    with access.in_workspace(whole.workspace.pk):
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")
        type(row)._base_manager.filter(workspace=whole.workspace, pk=row.pk)._raw_delete("default")


@pytest.mark.parametrize("model", tenant_models(), ids=lambda model: model.__name__)
def test_the_whole_workspace_leaves_no_table_empty(model: Model, whole: Whole):
    assert counts(whole, [model])[model.__name__] > 0


def test_all_references_are_looked_at():
    assert len(REFERENCES) >= 29
    assert {"Mention.chunk_id", "Posting.chunk_id", "Relationship.target_id"} <= set(NAMED)


@pytest.mark.parametrize(("model", "column", "named"), REFERENCES, ids=NAMED)
def test_no_row_can_name_a_row_of_another_tenant(
    model: Model, column: str, named: Model, pair: tuple[Whole, Whole]
):
    mine, theirs = pair
    with access.in_workspace(theirs.workspace.pk):
        foreign = one_row_of(named, theirs).pk

    with pytest.raises(IntegrityError, match=f"{column}_tenant_fk"):
        point(model, column, mine, foreign)


@pytest.mark.parametrize(
    ("model", "column"), [(Mention, "entity_id"), (Posting, "chunk_id"), (StageRun, "job_id")]
)
def test_no_row_can_name_what_does_not_exist(model: Model, column: str, whole: Whole):
    with pytest.raises(IntegrityError, match=f"{column}_tenant_fk"):
        point(model, column, whole, uuid4())


OF_A_DOCUMENT = [
    Document,
    DocumentVersion,
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    Posting,
    Mention,
    Evidence,
    FindingEvidence,
    IngestionJob,
    StageRun,
]


def test_a_document_takes_along_all_that_was_read_in_it(whole: Whole):
    delete(whole.document, whole)

    assert set(counts(whole, OF_A_DOCUMENT).values()) == {0}


def test_a_document_leaves_the_entities_it_spoke_of_for_the_stages_to_judge(whole: Whole):
    delete(whole.document, whole)

    assert counts(whole, [Entity, Alias, Relationship]) == {
        "Entity": 2,
        "Alias": 2,
        "Relationship": 1,
    }


def test_an_entity_takes_along_its_names_its_places_and_its_relationships(whole: Whole):
    delete(whole.ada, whole)

    gone = counts(whole, [Relationship, Evidence, MergeSuggestion])
    assert set(gone.values()) == {0}
    assert counts(whole, [Entity, Alias, Mention, CommunityMember]) == {
        "Entity": 1,
        "Alias": 1,
        "Mention": 1,
        "CommunityMember": 1,
    }


def test_the_target_of_a_relationship_takes_it_along_as_its_source_does(whole: Whole):
    delete(whole.olaf, whole)

    assert counts(whole, [Relationship, Evidence]) == {"Relationship": 0, "Evidence": 0}


def test_an_entity_leaves_documents_and_chunks_alone(whole: Whole):
    before = counts(whole, [Document, Chunk, Posting])

    delete(whole.ada, whole)

    assert counts(whole, [Document, Chunk, Posting]) == before


def test_a_chunk_takes_its_evidence_but_not_its_document(whole: Whole):
    delete(whole.chunk, whole)

    assert counts(whole, [Document, DocumentVersion, Chunk, Evidence, ChunkExtraction]) == {
        "Document": 1,
        "DocumentVersion": 1,
        "Chunk": 1,
        "Evidence": 0,
        "ChunkExtraction": 0,
    }


def test_a_shelf_that_is_taken_down_leaves_its_documents(whole: Whole):
    delete(whole.collection, whole)

    with access.in_workspace(whole.workspace.pk):
        document = Document.objects.in_workspace(whole.workspace).get()
    assert document.collection_id is None
    assert document.workspace_id == whole.workspace.pk


def test_a_community_above_leaves_the_ones_below(whole: Whole):
    delete(whole.parent, whole)

    with access.in_workspace(whole.workspace.pk):
        below = Community.objects.in_workspace(whole.workspace).get()
    assert below.pk == whole.report.community_id
    assert below.parent_id is None


def test_a_report_takes_its_findings_and_what_they_rest_on(whole: Whole):
    delete(whole.report, whole)

    assert set(counts(whole, [CommunityReport, Finding, FindingEvidence]).values()) == {0}
    assert counts(whole, [Chunk]) == {"Chunk": 2}


def test_what_goes_in_one_workspace_stays_in_the_other(pair: tuple[Whole, Whole]):
    mine, theirs = pair
    before = counts(theirs, tenant_models())

    delete(mine.document, mine)
    delete(mine.ada, mine)

    assert counts(theirs, tenant_models()) == before
