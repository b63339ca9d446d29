"""Search, for pages, the API and commands. For answers, see ``retrieval.conversations.asking``."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from ingestion.models import Chunk
from kb_project.llm.rerank import Reranker
from kb_project.ports import Ports
from retrieval.search import reranking, scope as scopes, scope_entities
from retrieval.search.found import Found
from retrieval.search.hits import Hit, hydrate
from retrieval.search.modes import Mode, mode_named
from retrieval.search.query import (
    Note,
    Query,
    QuestionVector,
    ScoredChunk,
    checked_top_k,
    clean_question,
)
from retrieval.search.reporting import SILENT, Reporter
from retrieval.search.scope import Scope
from workspaces import access
from workspaces.models import Workspace
from workspaces.ports import ports_for


@dataclass(frozen=True, slots=True)
class SearchResult:
    """``notes`` say what could not be searched; if there are none, no hits means nothing was found.

    ``search_seconds`` is everything but making the question's vector. ``mode`` is the one used in
    the end; ``found`` has the records and points that ``hits`` do not show.
    """

    mode: Mode
    query: Query
    found: Found
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
    vector: QuestionVector | None = None,
    question_id: UUID | None = None,
    reporter: Reporter = SILENT,
    ports: Ports | None = None,
) -> SearchResult:
    """Return the ``top_k`` best passages.

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
        chat=ports.chat,
        question_id=question_id,
        reporter=reporter,
    )
    sought = scope_entities.to_look_for(query, steering)
    waited = sought.vector.make() if chosen.uses_vectors and documents != () else 0.0
    found, hits = _looked_for(chosen, sought, steering, ports.reranker)
    return SearchResult(
        mode=mode_named(found.mode) if found.mode else chosen,
        query=query,
        found=found,
        hits=hits,
        embed_seconds=sought.vector.seconds,
        search_seconds=time.perf_counter() - started - waited,
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
        return scopes.document_ids(workspace.pk, scope), scope_entities.resolved(
            workspace.pk, scope
        )


def _looked_for(
    chosen: Mode,
    query: Query,
    steering: scope_entities.Steering,
    reranker: Reranker | None,
) -> tuple[Found, list[Hit]]:
    """Search deeper if hits are removed or reranked afterwards, then cut the list."""
    reranker = reranker if chosen.reranks else None
    is_deeper = reranker is not None or bool(steering.exclude)
    depth = max(query.top_k, reranking.CANDIDATES) if is_deeper else query.top_k
    found = _found(chosen, replace(query, top_k=depth))
    if found.mode and not mode_named(found.mode).reranks:
        reranker = None
    with access.in_workspace(query.workspace_id):
        found = scope_entities.steered(replace(query, top_k=depth), found, steering)
        hits = hydrate(query.workspace_id, found.chunks)
    ranked = reranking.reranked(query, hits, reranker)
    hits = ranked.hits[: query.top_k]
    chunks = [ScoredChunk(hit.chunk_id, hit.score, hit.why) for hit in hits]
    return replace(found, chunks=chunks, figures=found.figures + ranked.figures), hits


def _found(mode: Mode, query: Query) -> Found:
    """Search; if nothing is found, add a note on whether there was anything to search."""
    if query.documents == ():
        query.note("scope_empty", "No document matches the filters.")
        return Found([])
    found = mode.search(query)
    if not found.chunks and not _has_passages(query.workspace_id):
        query.note("nothing_to_search", "No document is ready to be searched yet.")
    return found


def _has_passages(workspace_id: UUID) -> bool:
    with access.in_workspace(workspace_id):
        return Chunk.objects.in_workspace(workspace_id).exists()
