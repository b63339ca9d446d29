"""Search, for pages, the API and commands. Answers are made in ``retrieval.asking``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ingestion.models import Chunk
from retrieval.search import scope as scopes
from retrieval.search.found import Found
from retrieval.search.hits import Hit, hydrate
from retrieval.search.modes import Mode, mode_named
from retrieval.search.query import (
    Note,
    Query,
    QuestionVector,
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
    """``notes`` say what could not be looked at; without one, no hits means nothing was found.

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


def search(
    *,
    workspace: Workspace,
    question: str,
    mode: str,
    top_k: int,
    scope: Scope | None = None,
    vector: QuestionVector | None = None,
    question_id: UUID | None = None,
    reporter: Reporter = SILENT,
) -> SearchResult:
    """The ``top_k`` best passages. Whoever asks several modes passes one ``vector`` to all.

    ``question_id`` is whom the ledger counts model calls for. Raises InputError where the question,
    the mode or ``top_k`` cannot be used, StoppedError where the reporter says so.
    """
    chosen = mode_named(mode)
    question, top_k = clean_question(question), checked_top_k(top_k)
    vector = vector or question_vector(workspace, question)
    started = time.perf_counter()
    documents = _documents(workspace, scope or Scope())
    waited = vector.make() if chosen.uses_vectors and documents != () else 0.0
    query = Query(
        workspace.pk,
        question,
        top_k,
        vector,
        documents,
        chat=ports_for(workspace.pk).chat,
        question_id=question_id,
        reporter=reporter,
    )
    found = _found(chosen, query)
    with access.in_workspace(workspace.pk):
        hits = hydrate(workspace.pk, found.chunks)
    return SearchResult(
        mode=mode_named(found.mode) if found.mode else chosen,
        query=query,
        found=found,
        hits=hits,
        embed_seconds=vector.seconds,
        search_seconds=time.perf_counter() - started - waited,
    )


def question_vector(workspace: Workspace, question: str) -> QuestionVector:
    """By the model that the workspace's passages were embedded with."""
    return QuestionVector(ports_for(workspace.pk).embedder, clean_question(question))


def _documents(workspace: Workspace, scope: Scope) -> tuple[UUID, ...] | None:
    if scope.is_open:
        return None
    with access.in_workspace(workspace.pk):
        return scopes.document_ids(workspace.pk, scope)


def _found(mode: Mode, query: Query) -> Found:
    """What the mode finds; where that is nothing, a note says whether there was where to look."""
    if query.documents == ():
        query.note("scope_empty", "No document passes the filters.")
        return Found([])
    found = mode.search(query)
    if not found.chunks and not _has_passages(query.workspace_id):
        query.note("nothing_to_search", "No document here can be searched yet.")
    return found


def _has_passages(workspace_id: UUID) -> bool:
    with access.in_workspace(workspace_id):
        return Chunk.objects.in_workspace(workspace_id).exists()
