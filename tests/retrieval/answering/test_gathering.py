from __future__ import annotations

import pytest

from ingestion.vectors import sentences as embedded
from kb_project.ports import build_ports
from retrieval.answering import extractive, gathering, ranking
from retrieval.models import Outcome
from retrieval.search import sentences
from retrieval.search.hits import hydrate
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from tests import rows
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

LOG = "The boat came on Friday. It brought oil and letters.\n\nAda Lind lit the lamp at dusk."
ROADS = "The quarry road is closed in winter."


class Desk:
    """A workspace with two documents whose sentences are embedded, and questions to it."""

    def __init__(self) -> None:
        self.cast = rows.make_cast()
        self.embedder = build_ports().embedder
        self.log, self.roads = (
            rows.make_document(self.cast.workspace, title, text, embedder=self.embedder)
            for title, text in (("Log", LOG), ("Roads", ROADS))
        )
        for document in (self.log, self.roads):
            embedded.make(self.cast.workspace.pk, rows.chunks_of(document), self.embedder)

    def query(self, question, **options):
        vector = QuestionVector(self.embedder, question)
        return Query(self.cast.workspace.pk, question, 5, vector, **options)

    def hits(self, document):
        found = [ScoredChunk(one.pk, 1.0) for one in rows.chunks_of(document)]
        return hydrate(self.cast.workspace.pk, found)

    def gather(self, query, found):
        vector = sentences.vector_of(query, query.question)
        vector.make()
        with access.in_workspace(self.cast.workspace.pk):
            return gathering.gather(query, found(), vector)


@pytest.fixture
def desk(fake_embedder):
    return Desk()


def test_the_nearest_sentence_brings_its_passage_along(desk):
    query = desk.query("Roads: The quarry road is closed in winter.")

    made = desk.gather(query, list)

    assert made.statements[0].said == ROADS or ROADS in {one.said for one in made.statements}
    assert {hit.document_id for hit in made.hits} >= {desk.roads.pk}
    assert all(hit.why == gathering.WHY for hit in made.hits)


def test_what_stands_outside_the_scope_is_not_looked_at(desk):
    query = desk.query("Roads: The quarry road is closed.", documents=(desk.log.pk,))

    made = desk.gather(query, list)

    assert {hit.document_id for hit in made.hits} == {desk.log.pk}


def test_a_passage_found_keeps_its_place_before_those_that_join(desk):
    query = desk.query("Who lit the lamp?")

    made = desk.gather(query, lambda: desk.hits(desk.roads))

    assert made.hits[0].document_id == desk.roads.pk
    assert len({hit.chunk_id for hit in made.hits}) == len(made.hits)


def test_words_that_no_document_holds_are_unknown(desk):
    made = desk.gather(desk.query("Who paired the headphones?"), list)

    assert ranking.of_question(made)["unknown"] == pytest.approx(1.0)


def test_a_model_whose_cosines_were_not_learnt_is_not_believed(desk):
    parts = extractive.prepared(desk.query("Who lit the lamp?"))

    assert [part.vector for part in parts] == [None]


def test_an_empty_workspace_has_nothing_to_tell(desk):
    empty = rows.make_workspace("Empty")
    query = Query(empty.pk, "Who lit the lamp?", 5, QuestionVector(desk.embedder, "Who?"))

    told = extractive.tell(query, [])

    assert (told.outcome, list(told.sentences), list(told.nearest)) == (Outcome.NOTHING, [], [])
