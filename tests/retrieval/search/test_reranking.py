from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

import pytest

from kb_project.errors import EndpointError
from kb_project.llm import rerankers
from kb_project.llm.fake import FakeEmbedder
from kb_project.llm.ports import Ranking
from kb_project.ports import build_ports
from retrieval.search import services
from retrieval.search.modes import MODES
from retrieval.search.query import Query, QuestionVector
from retrieval.search.reporting import EventKind
from retrieval.search.results import Hit
from retrieval.search.services import CANDIDATES, as_text, reranked
from tests import rows
from tests.provider import Provider
from tests.workspaces.models_rows import ledger
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import RerankChoice
from workspaces.models import RerankerKind, Workspace


class Backwards:
    """Likes best what stands last; ``asked`` are the texts it was given."""

    name = "backwards-1"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def rank(
        self, question: str, texts: Sequence[str], *, question_id: uuid.UUID | None = None
    ) -> Ranking:
        self.asked = list(texts)
        return Ranking(tuple(float(place) for place in range(len(texts))))


class Away:
    name = "away-1"

    def rank(
        self, question: str, texts: Sequence[str], *, question_id: uuid.UUID | None = None
    ) -> Ranking:
        raise EndpointError("models.example.org cannot be reached.")


class Listening:
    def __init__(self) -> None:
        self.said: list[tuple[EventKind, dict[str, object]]] = []

    def emit(self, kind, payload) -> None:
        self.said.append((kind, dict(payload)))

    def check(self) -> None:
        """Nobody stops."""


def a_query(**changes: object) -> Query:
    vector = QuestionVector(FakeEmbedder(), "Who?")
    return Query(uuid.uuid4(), "Who?", 5, vector, **changes)  # type: ignore[arg-type]  # by name


def hits(count: int) -> list[Hit]:
    return [
        Hit(
            uuid.UUID(int=n),
            uuid.UUID(int=1),
            "Log",
            ("Day",),
            None,
            0,
            5,
            9.0 - n,
            f"t{n}",
            ("x",),
        )
        for n in range(count)
    ]


def test_hits_come_in_the_rerankers_order_with_its_scores_and_a_reason():
    ranked, figures = reranked(a_query(), hits(3), Backwards())

    assert [hit.text for hit in ranked] == ["t2", "t1", "t0"]
    assert [hit.score for hit in ranked] == [2, 1, 0]
    assert ranked[0].why == ("Ranked 1 of 3 by backwards-1", "x")
    assert dict(figures)["reranked"] == 3
    assert dict(figures)["rerank_ms"] >= 0


def test_a_passage_is_read_with_its_title_and_headings():
    assert as_text(hits(1)[0]) == "Log › Day\nt0"


def test_a_failure_leaves_the_order_and_says_why():
    query = a_query()

    ranked, figures = reranked(query, hits(3), Away())

    assert [hit.text for hit in ranked] == ["t0", "t1", "t2"]
    [note] = query.notes
    assert note.code == "not_reranked"
    assert "cannot be reached" in note.sentence
    assert dict(figures)["reranked"] == 0


def test_what_it_does_is_told_before_it_does_it():
    reporter = Listening()

    reranked(a_query(reporter=reporter), hits(3), Backwards())

    assert [(kind, said["name"]) for kind, said in reporter.said] == [(EventKind.STEP, "rank")]


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_put_in_order_is_no_call(count):
    reranker = Backwards()

    ranked, figures = reranked(a_query(), hits(count), reranker)

    assert (len(ranked), reranker.asked, figures) == (count, [], ())


# --- in a search ----------------------------------------------------------------------------------
@pytest.fixture
def provider() -> Iterator[Provider]:
    rerankers.breaker_of.cache_clear()
    with Provider() as running:
        yield running


@pytest.fixture
def workspace(fake_embedder) -> Workspace:
    workspace = rows.make_workspace()
    lines = [f"The lamp of pier {number} is dark." for number in range(200)]
    lines[120] = "The lamp of pier 120 is lit by Ada."
    rows.make_document(workspace, "Piers", "\n\n".join(lines), embedder=build_ports().embedder)
    return workspace


def set_reranker(workspace: Workspace, provider: Provider) -> None:
    choice = RerankChoice(kind=RerankerKind.ENDPOINT, endpoint=provider.url, model="cross-1")
    language_model_services.reranker_set(workspace=workspace, choice=choice)


def search(workspace: Workspace, mode: str = "lexical", top_k: int = 20):
    return services.search(
        workspace=workspace, question="Which lamp is lit by Ada?", mode=mode, top_k=top_k
    )


@pytest.mark.django_db
def test_150_candidates_are_looked_at_and_those_asked_for_are_kept(workspace, provider):
    set_reranker(workspace, provider)

    found = search(workspace)

    [seen] = provider.requests
    assert len(seen.body["documents"]) == CANDIDATES
    assert len(found.hits) == len(found.found.chunks) == 20
    assert found.hits[0].text == "The lamp of pier 120 is lit by Ada."
    assert found.trace["reranked"] == CANDIDATES
    assert found.trace["rerank_ms"] > 0
    assert [call.stage for call in ledger(workspace)] == ["rerank"]


@pytest.mark.django_db
def test_without_a_reranker_nothing_is_fetched_that_was_not_asked_for(workspace):
    found = search(workspace)

    assert len(found.hits) == 20
    assert "rerank_ms" not in found.trace


@pytest.mark.django_db
def test_a_reranker_that_is_away_never_empties_a_result(workspace, provider):
    plain = search(workspace)
    set_reranker(workspace, provider)
    provider.script.next("401", kind="rerank")

    found = search(workspace)

    assert [hit.chunk_id for hit in found.hits] == [hit.chunk_id for hit in plain.hits]
    assert [note.code for note in found.notes] == ["not_reranked"]


@pytest.mark.django_db
def test_a_mode_whose_order_knows_more_keeps_it(workspace, provider):
    set_reranker(workspace, provider)

    search(workspace, "walk")

    assert provider.count("rerank") == 0
    assert {name for name, mode in MODES.items() if not mode.reranks} >= {"walk", "global"}


@pytest.mark.django_db
def test_the_same_question_is_not_paid_for_twice(workspace, provider):
    set_reranker(workspace, provider)

    first, again = search(workspace), search(workspace)

    assert provider.count("rerank") == 1
    assert [hit.chunk_id for hit in first.hits] == [hit.chunk_id for hit in again.hits]
