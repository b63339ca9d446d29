from __future__ import annotations

from uuid import uuid4

import pytest

from ingestion.models import Chunk
from retrieval.search.hits import hydrate
from retrieval.search.query import ScoredChunk
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nOil comes by boat."


@pytest.fixture
def workspace():
    return rows.make_workspace()


def test_hits_keep_the_order_and_the_reasons_they_were_found_with(workspace):
    first, second = rows.chunks_of(rows.make_document(workspace, "Keepers", TEXT))

    with access.in_workspace(workspace.pk):
        hits = hydrate(
            workspace.pk, [ScoredChunk(second.pk, 2.0, ("b",)), ScoredChunk(first.pk, 1.0, ("a",))]
        )

    assert [(hit.chunk_id, hit.score, hit.why) for hit in hits] == [
        (second.pk, 2.0, ("b",)),
        (first.pk, 1.0, ("a",)),
    ]
    assert [TEXT[hit.start : hit.end] for hit in hits] == [hit.text for hit in hits]


def test_a_hit_knows_its_page_and_headings(workspace):
    chunk = rows.chunks_of(rows.make_document(workspace, "Keepers", TEXT))[0]
    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).filter(pk=chunk.pk).update(
            page_first=3, page_last=4, heading_path=["People", "Keepers"]
        )

        (hit,) = hydrate(workspace.pk, [ScoredChunk(chunk.pk, 1.0)])

    assert (hit.page, hit.heading_path) == (3, ("People", "Keepers"))


def test_a_passage_that_has_gone_is_left_out(workspace):
    chunk = rows.chunks_of(rows.make_document(workspace, "Keepers", TEXT))[0]

    with access.in_workspace(workspace.pk):
        hits = hydrate(workspace.pk, [ScoredChunk(uuid4(), 2.0), ScoredChunk(chunk.pk, 1.0)])

    assert [hit.chunk_id for hit in hits] == [chunk.pk]


def test_a_passage_of_another_workspace_is_left_out(workspace):
    stranger = rows.make_workspace("Elsewhere")
    chunk = rows.chunks_of(rows.make_document(stranger, "Theirs", TEXT))[0]

    with access.in_workspace(workspace.pk):
        assert hydrate(workspace.pk, [ScoredChunk(chunk.pk, 1.0)]) == []


def test_nothing_found_needs_no_query(workspace, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert hydrate(workspace.pk, []) == []
