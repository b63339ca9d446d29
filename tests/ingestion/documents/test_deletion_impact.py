"""What goes when documents go: figures of the page, of the preview, and of what happens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from uuid import uuid4

import pytest

from ingestion.curation.effects import of_documents
from ingestion.curation.entities import entity_create
from ingestion.curation.merging import entities_merge
from ingestion.curation.relationships import relationship_create
from ingestion.documents import lifecycle
from ingestion.documents.archive import Losses, losses_of
from tests import rows
from tests.ingestion.curation.conftest import desk as desk, papers_read as papers_read
from tests.ingestion.curation.papers import Desk
from workspaces import access

LTD, INC, ADA, ORRAN = "acme ltd", "acme inc", "ada lind", "orran"
GROUPS = [group for size in (1, 2, 3) for group in combinations("abcde", size)]


def losses(desk: Desk, names: Sequence[str]) -> Losses:
    return losses_of(workspace=desk.workspace, documents=[desk.document(name).pk for name in names])


def curated(desk: Desk) -> None:
    """Two became one, and people know of a fact and of somebody whom no document names."""
    entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])
    relationship_create(
        change=desk.change(), source=desk.id(ADA), target=desk.id(ORRAN), description="Lives there."
    )
    entity_create(change=desk.change(), name="The Trust", type="organization")


@pytest.mark.parametrize("is_curated", [False, True])
def test_the_page_and_the_preview_say_the_same_and_it_is_what_happens(desk: Desk, is_curated: bool):
    if is_curated:
        curated(desk)
    foreseen = {}
    for group in GROUPS:
        documents = [desk.document(name) for name in group]
        said = losses(desk, group)
        with access.in_workspace(desk.workspace.pk):
            effect = of_documents(desk.workspace, [one.pk for one in documents])
        foreseen[group] = said

        assert (said.passages, said.facts, said.facts_kept, said.entities) == (
            effect.passages, effect.facts, effect.kept_facts, effect.entities
        ), group  # fmt: skip

    for group in (("a",), ("b", "d"), ("a", "b", "c")):
        before = len(desk.names()), len(desk.links())
        documents = [desk.document(name) for name in group]
        lifecycle.documents_trash(change=desk.change(), documents=documents)
        after = len(desk.names()), len(desk.links())

        assert before[0] - after[0] == foreseen[group].entities, group
        assert before[1] - after[1] == foreseen[group].facts, group
        lifecycle.documents_restore(change=desk.change(), documents=documents)


def test_all_documents_together_take_everything_but_what_people_made(desk: Desk):
    curated(desk)

    said = losses(desk, "abcde")

    assert said.facts_kept == 0
    assert said.entities + said.entities_kept == len(desk.names()) - 1
    assert said.facts == len(desk.links()) - 1


def test_what_is_put_away_has_passages_and_nothing_else_to_lose(desk: Desk):
    lifecycle.documents_trash(
        change=desk.change(), documents=[desk.document("a"), desk.document("b")]
    )

    said = losses(desk, "ab")

    assert said == Losses(2, 2, 0, 0, 0, 0)
    assert said.sentence == "2 passages will no longer be searched."


def test_documents_that_are_not_there_take_nothing(desk: Desk):
    said = losses_of(workspace=desk.workspace, documents=[uuid4()])

    assert said == Losses(1, 0, 0, 0, 0, 0)


def test_documents_of_another_workspace_take_nothing(desk: Desk):
    other = rows.make_workspace("Elsewhere")

    said = losses_of(workspace=other, documents=[desk.document("a").pk])

    assert said == Losses(1, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("figures", "sentence"),
    [
        (Losses(1, 0, 0, 0, 0, 0), "Nothing has been read in it."),
        (Losses(3, 0, 0, 0, 0, 0), "Nothing has been read in them."),
        (Losses(1, 1, 0, 0, 0, 0), "1 passage will no longer be searched."),
        (
            Losses(1, 1, 1, 0, 0, 0),
            "1 passage will no longer be searched; 1 fact loses its only source.",
        ),
        (Losses(1, 1, 0, 1, 0, 0), "1 passage will no longer be searched; 1 keeps other sources."),
        (
            Losses(1, 2, 2, 0, 0, 0),
            "2 passages will no longer be searched; 2 facts lose their only source.",
        ),
        (
            Losses(2, 1200, 0, 1300, 9, 9),
            "1,200 passages will no longer be searched; 1,300 keep other sources.",
        ),
    ],
)
def test_figures_are_told_in_one_sentence(figures: Losses, sentence: str):
    assert figures.sentence == sentence
