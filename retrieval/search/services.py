"""Search, for pages, the API and commands. For answers, see ``retrieval.conversations.asking``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from ingestion.knowledge import insights
from ingestion.models import Chunk
from kb_project.errors import ModelError
from kb_project.llm.ports import Ranking, Reranker
from kb_project.ports import Ports
from retrieval.search import scope as scopes, scope_entities
from retrieval.search.modes import Mode, mode_named
from retrieval.search.query import (
    Note,
    Query,
    QuestionVector,
    ScoredChunk,
    TopicChoice,
    checked_top_k,
    clean_question,
)
from retrieval.search.reporting import SILENT, Reporter
from retrieval.search.results import Hit, ModeResult, hydrate
from retrieval.search.scope import Scope
from workspaces import access
from workspaces.models import Workspace
from workspaces.ports import ports_for

CANDIDATES: Final = 150
"""Passages that are reranked, of which the requested number is kept: Contextual Retrieval's best
measurement."""
NEAREST: Final = 10
"""Passages in which it is counted what most is said about; later ones are about other things."""
Figures = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """``notes`` say what could not be searched; if there are none, no hits means nothing was found.

    ``search_seconds`` is everything but making the question's vector. ``mode`` is the one used in
    the end; ``found`` has the records and points that ``hits`` do not show.
    """

    mode: Mode
    query: Query
    found: ModeResult
    hits: list[Hit]
    embed_seconds: float
    search_seconds: float

    @property
    def notes(self) -> tuple[Note, ...]:
        return tuple(self.query.notes)

    @property
    def trace(self) -> dict[str, Any]:
        return {
            "mode": self.mode.name,
            "hits": len(self.hits),
            "embed_ms": round(self.embed_seconds * 1000, 1),
            "search_ms": round(self.search_seconds * 1000, 1),
            "notes": [{"code": note.code, "sentence": note.sentence} for note in self.notes],
            **dict(self.found.figures),
        }


def search(  # noqa: PLR0913  what is asked, where to look, and for whom
    *,
    workspace: Workspace,
    question: str,
    mode: str,
    top_k: int,
    scope: Scope | None = None,
    topics: TopicChoice | None = None,
    vector: QuestionVector | None = None,
    question_id: UUID | None = None,
    reporter: Reporter = SILENT,
    ports: Ports | None = None,
) -> SearchResult:
    """Return the ``top_k`` best passages; a reranker, if there is one, orders them.

    To search in several modes, pass one ``vector`` to all; pass the workspace's ``ports`` if you
    already have them. ``question_id`` is what the ledger books model calls on. Raises InputError if
    the question, the mode or ``top_k`` is unusable, StoppedError if the reporter does.
    """
    chosen = mode_named(mode)
    question, top_k = clean_question(question), checked_top_k(top_k)
    ports = ports or ports_for(workspace.pk)
    vector = vector or QuestionVector(ports.embedder, question)
    started = time.perf_counter()
    documents, steering = _resolved(workspace, scope or Scope())
    query = Query(
        workspace.pk,
        question,
        top_k,
        vector,
        documents,
        include=tuple(steering.include),
        exclude=tuple(steering.exclude),
        as_of=scope.as_of if scope else "",
        topics=topics or TopicChoice(),
        chat=ports.chat,
        answer_chat=ports.answer_chat,
        question_id=question_id,
        reporter=reporter,
    )
    steered = query
    if (asked := steering.asked(question)) != question:
        steered = replace(query, question=asked, vector=QuestionVector(vector.embedder, asked))
    waited = steered.vector.make() if chosen.uses_vectors and documents != () else 0.0
    found, hits = _searched(chosen, steered, steering, ports.reranker)
    return SearchResult(
        mode=mode_named(found.mode) if found.mode else chosen,
        query=query,
        found=found,
        hits=hits,
        embed_seconds=steered.vector.seconds,
        search_seconds=time.perf_counter() - started - waited,
    )


def said_most_about(workspace: Workspace, hits: Sequence[Hit]) -> list[insights.Standing]:
    """Return the entities that several of the first passages state something about."""
    with access.in_workspace(workspace.pk):
        return insights.said_most_about(
            workspace=workspace, chunk_ids=[hit.chunk_id for hit in hits[:NEAREST]]
        )


def question_vector(workspace: Workspace, question: str) -> QuestionVector:
    """Return the question's vector, from the model that embedded the workspace's passages."""
    return QuestionVector(ports_for(workspace.pk).embedder, clean_question(question))


def _resolved(
    workspace: Workspace, scope: Scope
) -> tuple[tuple[UUID, ...] | None, scope_entities.Steering]:
    """Resolve the documents and names of the scope."""
    if scope.is_open:
        return None, scope_entities.NOTHING
    with access.in_workspace(workspace.pk):
        steering = scope_entities.resolved(workspace.pk, scope)
        return scopes.document_ids(workspace.pk, scope), steering


def _searched(
    chosen: Mode, query: Query, steering: scope_entities.Steering, reranker: Reranker | None
) -> tuple[ModeResult, list[Hit]]:
    """Search deeper if hits are removed or reranked afterwards, then cut the list."""
    reranker = reranker if chosen.reranks else None
    is_deeper = reranker is not None or bool(steering.exclude or query.as_of)
    depth = max(query.top_k, CANDIDATES) if is_deeper else query.top_k
    deeper = replace(query, top_k=depth)
    found = _found(chosen, deeper)
    if found.mode and not mode_named(found.mode).reranks:
        reranker = None
    with access.in_workspace(query.workspace_id):
        found = scope_entities.steered(deeper, found, steering)
        hits = hydrate(query.workspace_id, found.chunks)
    hits, figures = reranked(query, hits, reranker)
    hits = hits[: query.top_k]
    chunks = [ScoredChunk(hit.chunk_id, hit.score, hit.why) for hit in hits]
    return replace(found, chunks=chunks, figures=found.figures + figures), hits


def _found(mode: Mode, query: Query) -> ModeResult:
    """Search; if nothing is found, add a note on whether there was anything to search."""
    if query.documents == ():
        query.note("scope_empty", "No document matches the filters.")
        return ModeResult([])
    found = mode.search(query)
    if not found.chunks:
        with access.in_workspace(query.workspace_id):
            if not Chunk.objects.in_workspace(query.workspace_id).exists():
                query.note("nothing_to_search", "No document is ready to be searched yet.")
    return found


def reranked(
    query: Query, hits: Sequence[Hit], reranker: Reranker | None
) -> tuple[list[Hit], Figures]:
    """Return the hits in the reranker's order, and figures for the trace: how many were reranked,
    and how long it took. Call outside transactions.

    If it fails, they keep the search's own order, with a note that says why.
    """
    if reranker is None or len(hits) < 2:
        return list(hits), ()
    query.step("rank", f"Reranking {len(hits)} passages.")
    started = time.perf_counter()
    count, texts = len(hits), [as_text(hit) for hit in hits]
    try:
        ranking = reranker.rank(query.question, texts, question_id=query.question_id)
        hits = _in_order(hits, ranking, reranker.name)
    except ModelError as error:
        query.note("not_reranked", f"The passages keep the search's own order: {error.happened}")
        count = 0
    spent = round((time.perf_counter() - started) * 1000, 1)
    return list(hits), (("reranked", count), ("rerank_ms", spent))


def as_text(hit: Hit) -> str:
    """Return a passage with its title and headings above it."""
    above = " › ".join(dict.fromkeys((hit.title, *hit.heading_path)))
    return f"{above}\n{hit.text}"


def _in_order(hits: Sequence[Hit], ranking: Ranking, name: str) -> list[Hit]:
    worst = min((score for score in ranking.scores if score is not None), default=0.0)
    found = []
    for rank, place in enumerate(ranking.order(), start=1):
        score = ranking.scores[place]
        why = (f"Ranked {rank} of {len(hits)} by {name}", *hits[place].why)
        found.append(replace(hits[place], score=worst if score is None else score, why=why))
    return found
