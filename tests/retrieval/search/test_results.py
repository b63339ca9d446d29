from __future__ import annotations

from uuid import uuid4

import pytest

from ingestion.models import Chunk
from retrieval.search.query import ScoredChunk
from retrieval.search.results import hydrate
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nOil comes by boat.\n\nThe road is closed."


@pytest.fixture
def keepers():
    workspace = rows.make_workspace()
    return workspace, rows.chunks_of(rows.make_document(workspace, "Keepers", TEXT))


def hydrated(workspace, found):
    with access.in_workspace(workspace.pk):
        return hydrate(workspace.pk, found)


def test_hits_keep_the_order_and_the_scores_they_were_found_with(keepers):
    workspace, (first, second, third) = keepers
    found = [ScoredChunk(third.pk, 0.9), ScoredChunk(first.pk, 0.5), ScoredChunk(second.pk, 0.7)]

    hits = hydrated(workspace, found)

    assert [hit.chunk_id for hit in hits] == [third.pk, first.pk, second.pk]
    assert [hit.score for hit in hits] == [0.9, 0.5, 0.7]


def test_a_hit_stands_where_its_text_stands_in_the_document(keepers):
    workspace, chunks = keepers

    hits = hydrated(workspace, [ScoredChunk(chunk.pk, 1.0, ("A reason",)) for chunk in chunks])

    for hit in hits:
        assert TEXT[hit.start : hit.end] == hit.text
        assert (hit.title, hit.page, hit.why) == ("Keepers", None, ("A reason",))


def test_a_hit_tells_the_headings_and_the_page_it_is_under(keepers):
    workspace, (first, *_) = keepers
    with access.in_workspace(workspace.pk):
        Chunk.objects.in_workspace(workspace).filter(pk=first.pk).update(
            heading_path=["Part one", "Lights"], page_first=3
        )

    (hit,) = hydrated(workspace, [ScoredChunk(first.pk, 1.0)])

    assert hit.heading_path == ("Part one", "Lights")
    assert hit.page == 3


def test_a_passage_that_has_gone_meanwhile_is_left_out(keepers):
    workspace, (first, *_) = keepers

    hits = hydrated(workspace, [ScoredChunk(uuid4(), 1.0), ScoredChunk(first.pk, 0.5)])

    assert [hit.chunk_id for hit in hits] == [first.pk]


def test_a_passage_of_another_workspace_is_never_shown(keepers):
    _, (first, *_) = keepers
    stranger = rows.make_workspace("Elsewhere")

    assert hydrated(stranger, [ScoredChunk(first.pk, 1.0)]) == []


@pytest.mark.parametrize(("count", "queries"), [(0, 0), (1, 1), (3, 1)])
def test_any_number_of_hits_costs_one_query(keepers, django_assert_num_queries, count, queries):
    workspace, chunks = keepers
    found = [ScoredChunk(chunk.pk, 1.0) for chunk in chunks[:count]]

    with access.in_workspace(workspace.pk), django_assert_num_queries(queries):
        assert len(hydrate(workspace.pk, found)) == count
