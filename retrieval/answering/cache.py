"""Answer cache: reuse an earlier answer to the same question about the same documents.

The key holds everything an answer depends on: the question as searched, mode and scope, the corpus
version, the chosen models, the prompts, and the conversation if a model reads it. While documents
are being processed there is no key, and the cache is not used.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Final

from django.conf import settings

from ingestion.knowledge import corpus
from kb_project.ports import Ports
from kb_project.sql import run_sql
from retrieval.answering import sql
from retrieval.answering.drafts import Asking
from retrieval.models import Answer, Citation
from workspaces import access
from workspaces.ports import chosen_for

PROMPTS: Final = Path(__file__).resolve().parents[1] / "prompts"
FORM: Final = 2
"""Format of a stored answer; raise it when older answers must not be reused."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Everything but the question that an answer depends on, as ``text``; '' if nothing may be
    cached. ``ports`` are the workspace's, consistent with it."""

    text: str
    ports: Ports

    def key(self, question: str) -> str:
        """Return the SHA-256 cache key, or '' if nothing may be cached."""
        whole = f"{self.text}\0{question}".encode("utf-8", "replace")
        return hashlib.sha256(whole).hexdigest() if self.text else ""


def conditions_of(asking: Asking) -> Conditions:
    """Read the conditions before the search, so that results are never older than the key."""
    workspace_id = asking.workspace.pk
    with access.in_workspace(workspace_id):
        version = corpus.corpus_version(workspace_id=workspace_id)
        chosen = chosen_for(workspace_id)
    if version is None:
        return Conditions("", chosen.ports)
    choice = [chosen.digests]
    installation = (
        settings.MODEL_ENDPOINT,
        settings.MODEL_NAME,
        settings.MODEL_FOR,
        settings.MODEL_WORK,
        settings.EMBEDDER,
    )
    wanted = [asking.mode, asking.scope.as_json(), asking.options.as_json()]
    parts = [FORM, *wanted, version, choice, installation, _prompts()]
    if asking.earlier and chosen.ports.writer is not None:
        # One person's earlier questions must not shape the answer another person gets.
        parts.append([astuple(one) for one in asking.earlier])
    return Conditions(json.dumps(parts, default=str, sort_keys=True), chosen.ports)


def found(asking: Asking, key: str) -> Answer | None:
    """Return the newest answer kept under the key."""
    if not key:
        return None
    with access.in_workspace(asking.workspace.pk):
        rows = run_sql(sql.ANSWERED_BEFORE, {"workspace": asking.workspace.pk, "key": key})
        answers = Answer.objects.in_workspace(asking.workspace)
        return answers.filter(pk=rows[0][0]).first() if rows else None


def copied(earlier: Answer) -> dict[str, object]:
    """Return the fields a new answer copies from an earlier one; call in the workspace's scope."""
    return {
        "mode": earlier.mode,
        "outcome": earlier.outcome,
        "is_supported": earlier.is_supported,
        "sentences": earlier.sentences,
        "nearest": earlier.nearest,
        "trace": earlier.trace | {"cached_from": str(earlier.pk)},
        "follow_ups": earlier.follow_ups,
        "written_by": earlier.written_by,
        "cache_key": earlier.cache_key,
    }


def copy_citations(earlier: Answer, answer: Answer) -> None:
    """Copy the earlier answer's citations; call in the workspace's scope."""
    kept = Citation.objects.in_workspace(earlier.workspace_id).filter(answer=earlier)
    cited = list(kept.exclude(document=None).values_list("document_id", flat=True))
    values = {"workspace": earlier.workspace_id, "documents": cited}
    run_sql(sql.HOLD_DOCUMENTS, values)
    Citation.objects.bulk_create(
        Citation(
            workspace_id=answer.workspace_id,
            answer=answer,
            number=one.number,
            document_id=one.document_id,
            source_deleted_at=one.source_deleted_at,
            chunk_id=one.chunk_id,
            version_number=one.version_number,
            start=one.start,
            end=one.end,
            quote=one.quote,
            spans=one.spans,
        )
        for one in kept
    )


def copy_events(earlier: Answer, answer: Answer) -> None:
    """Append the earlier answer's events (passages, answer and so on) to the new answer's."""
    values = {"workspace": answer.workspace_id, "answer": answer.pk, "earlier": earlier.pk}
    run_sql(sql.COPY_EVENTS, values)


@cache
def _prompts() -> str:
    """Return a digest of the prompts for models."""
    digest = hashlib.sha256()
    for path in sorted(PROMPTS.glob("*.md")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
