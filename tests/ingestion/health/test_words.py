"""Postings against the texts they were made of."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from ingestion.health import walked
from ingestion.health.repairs import OTHERS, SENTENCES, STAGES, Remedy
from ingestion.health.report import NOTHING
from ingestion.health.scope import Scope, looking_at
from ingestion.models import Chunk, Document, Posting
from ingestion.pipeline.runner import DOCUMENT_STAGES
from ingestion.stages.situate.words import MOST_FREQUENT
from tests import rows
from workspaces import access
from workspaces.models import Workspace


@pytest.fixture
def document(db: None, fake_embedder: None) -> Document:
    workspace = rows.make_workspace()
    return rows.make_document(
        workspace, "The log", "Ada keeps the light.\n\nOlaf rows oil.\n\nIt blew."
    )


def scope_of(workspace: Workspace, document: Document) -> Scope:
    """As if the document's words had been indexed."""
    with looking_at(workspace.pk) as scope:
        versions = tuple(document.versions.values_list("pk", flat=True))
    return Scope(
        scope.workspace_id, {"situate": versions}, scope.busy, scope.unfinished, scope.ahead,
        scope.last_refresh, scope.marks, scope.fingerprint,
    )  # fmt: skip


def found(document: Document, *, most: int | None = None) -> tuple[int, set[str]]:
    workspace = document.workspace
    with access.in_workspace(workspace.pk):
        drift = walked.find_in_words(scope_of(workspace, document), most=most)
    return drift.count, set(drift.samples)


def test_words_of_the_text_and_its_place_are_as_they_must_be(document: Document):
    assert found(document) == (0, set())


def test_another_word_is_found_with_its_passage(document: Document):
    [first, *_] = rows.chunks_of(document)
    with access.in_workspace(document.workspace_id):
        postings = Posting.objects.in_workspace(document.workspace_id).filter(chunk=first)
        Posting.objects.in_workspace(document.workspace_id).filter(
            pk=postings.order_by("term")[0].pk
        ).update(term="gold")

    assert found(document) == (1, {str(first.pk)})


def test_a_text_that_was_changed_no_longer_has_its_words(document: Document):
    last = rows.chunks_of(document)[-1]
    with access.in_workspace(document.workspace_id):
        chunks = Chunk.objects.in_workspace(document.workspace_id).filter(pk=last.pk)
        chunks.update(text="It snowed.")

    assert found(document) == (1, {str(last.pk)})


def test_a_passage_that_was_never_counted_is_left_to_others(document: Document):
    last = rows.chunks_of(document)[-1]
    with access.in_workspace(document.workspace_id):
        chunks = Chunk.objects.in_workspace(document.workspace_id).filter(pk=last.pk)
        chunks.update(text="It snowed.", terms=None)

    assert found(document) == (0, set())


def test_a_few_by_chance_are_among_all(document: Document):
    with access.in_workspace(document.workspace_id):
        Chunk.objects.in_workspace(document.workspace_id).update(context="Another title")
    count, all_of_them = found(document)
    assert count == 3

    for most in (1, 2, 3, 20):
        count, some = found(document, most=most)

        assert count == min(most, 3)
        assert some <= all_of_them


def test_documents_that_are_not_indexed_yet_are_not_looked_at(document: Document):
    with access.in_workspace(document.workspace_id):
        Chunk.objects.in_workspace(document.workspace_id).update(context="Another title")
        with looking_at(document.workspace_id) as scope:
            assert walked.find_in_words(scope) == walked.find_in_words(scope, most=5) == NOTHING


@given(st.lists(st.sampled_from(["ada", "light", "oil"]), max_size=30))
def test_every_word_is_expected_as_often_as_it_stands_there(written: list[str]):
    expected = walked.expected("", " ".join(written))

    assert expected == dict(Counter(written))


def test_a_word_is_counted_no_further_than_the_column_holds():
    assert walked.expected("", "oil " * (MOST_FREQUENT + 5)) == {"oil": MOST_FREQUENT}


def test_words_of_the_place_count_like_those_of_the_text():
    assert walked.expected("oil", "oil and light")["oil"] == 2


# --- what mends -----------------------------------------------------------------------------------
def test_every_remedy_has_a_sentence_and_one_way_to_be_carried_out():
    assert set(SENTENCES) == set(Remedy)
    assert set(STAGES) | set(OTHERS) == set(Remedy)
    assert not set(STAGES) & set(OTHERS)
    assert all(one.sentence.endswith(".") for one in Remedy)


def test_what_is_run_again_is_in_the_order_in_which_documents_are_read():
    order = list(DOCUMENT_STAGES)

    for remedy, stages in STAGES.items():
        assert sorted(stages, key=order.index) == list(stages), remedy
