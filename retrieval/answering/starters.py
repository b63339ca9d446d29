"""Starter questions for an empty conversation, all of which the documents answer.

Made from the beginnings of documents and from passages about their most prominent names, and tried
before anyone sees them. That takes a moment, so they are cached until what can be searched changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Final
from uuid import UUID

from django.core.cache import cache

from ingestion.knowledge import corpus
from kb_project.sql import run_sql
from retrieval.answering import suggesting, suggesting_sql
from retrieval.answering.stated import Stated, ask_the_same, names_of, stated_in
from retrieval.answering.wording import Form
from retrieval.search.hits import Hit, hydrate
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from workspaces import access
from workspaces.models import Workspace
from workspaces.ports import ports_for

MOST_DOCUMENTS: Final = 12
EACH: Final = 3
"""Passages read of each document."""
MOST_NAMES: Final = 20
MOST_TELLING: Final = 12
MOST_TRIED: Final = 12
LONGEST: Final = 90
"""In characters: a question has to fit on a button."""
SECONDS_KEPT: Final = 24 * 3600
SECONDS_KEPT_WHILE_READING: Final = 120


def remembered(*, workspace: Workspace) -> list[str] | None:
    """Return the cached ``starters`` for what can be searched now; None if there are none yet."""
    found = cache.get(_key(workspace))
    return None if found is None else list(found)


def starters(*, workspace: Workspace, most: int) -> list[str]:
    """Return at most ``most`` questions, from different documents if possible. Call outside
    transactions."""
    with access.in_workspace(workspace.pk):
        key = _key(workspace)
        hits = _passages(workspace.pk)
        known = names_of(workspace.pk, hits, None)
    candidates = ranked(stated_in(hits, known))
    embedder = ports_for(workspace.pk).embedder
    query = Query(workspace.pk, "", MOST_TRIED, QuestionVector(embedder, ""))
    tried = candidates[:MOST_TRIED]
    answered = (one.question for one in tried if suggesting.is_answerable(query, one.question))
    questions = list(islice(answered, most))
    is_settled = not key.endswith(":None")
    cache.set(key, questions, SECONDS_KEPT if is_settled else SECONDS_KEPT_WHILE_READING)
    return questions


def ranked(made: Sequence[Stated]) -> list[Stated]:
    """Order questions: statements before sections, one from each document before any has a second,
    none that asks the same as another."""
    kept: list[Stated] = []
    turns: Counter[UUID] = Counter()
    turn: dict[str, int] = {}
    for one in sorted(made, key=lambda one: one.form is Form.SECTION):
        if len(one.question) > LONGEST or any(ask_the_same(one.asks, it.asks) for it in kept):
            continue
        kept.append(one)
        turn[one.question] = turns[one.hit.document_id]
        turns[one.hit.document_id] += 1
    return sorted(kept, key=lambda one: (turn[one.question], one.form))


def _passages(workspace_id: UUID) -> list[Hit]:
    values = {
        "workspace": workspace_id,
        "documents": MOST_DOCUMENTS,
        "each": EACH,
        "names": MOST_NAMES,
        "count": MOST_TELLING,
    }
    rows = run_sql(suggesting_sql.PASSAGES_TO_BEGIN_WITH, values)
    return hydrate(workspace_id, [ScoredChunk(pk, 0.0) for (pk,) in rows])


def _key(workspace: Workspace) -> str:
    """Call in the workspace's scope."""
    version = corpus.corpus_version(workspace_id=workspace.pk)
    return f"starters:{workspace.pk}:{version}"
