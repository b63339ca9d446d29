"""An answer given before, for the same question asked of the same documents in the same way.

The key holds everything that an answer depends on: the question as it is looked for, mode and
scope, the version of the corpus, the models that were chosen, the prompts, and the conversation
where a model writes in its light. While documents are on their way in there is no key, and nothing
is taken from here.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Final

from django.conf import settings

from ingestion.selectors import corpus
from kb_project.ports import Ports
from kb_project.sql import run_sql
from retrieval import answering_sql as sql
from retrieval import citing_sql
from retrieval.answering.drafts import Asking
from retrieval.models import Answer, Citation
from workspaces import access
from workspaces.ports import chosen_for

PROMPTS: Final = Path(__file__).resolve().parents[1] / "prompts"
FORM: Final = 2
"""Of what is stored; raised when an older answer would not do any more."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the answer to a question belongs; ``conditions`` is all but the question itself.

    ``ports`` are the workspace's, as the conditions have them.
    """

    conditions: str
    ports: Ports

    def key(self, question: str) -> str:
        """SHA-256; '' where nothing may be kept."""
        said = f"{self.conditions}\0{question}"
        return (
            hashlib.sha256(said.encode("utf-8", "replace")).hexdigest() if self.conditions else ""
        )


def place_of(asking: Asking) -> Place:
    """Read before the search, so that what is found later is newer, never older, than the key."""
    workspace_id = asking.workspace.pk
    with access.in_workspace(workspace_id):
        version = corpus.corpus_version(workspace_id=workspace_id)
        chosen = chosen_for(workspace_id)
    if version is None:
        return Place("", chosen.ports)
    choice = [chosen.digests]
    installation = (settings.MODEL_ENDPOINT, settings.MODEL_NAME, settings.EMBEDDER)
    said = [FORM, asking.mode, asking.scope.as_json(), version, choice, installation, _prompts()]
    if asking.earlier and chosen.ports.chat is not None:
        # What one person asked before is nothing that another's answer may come from.
        said.append([astuple(one) for one in asking.earlier])
    return Place(json.dumps(said, default=str, sort_keys=True), chosen.ports)


def found(asking: Asking, key: str) -> Answer | None:
    """The newest answer kept under the key."""
    if not key:
        return None
    with access.in_workspace(asking.workspace.pk):
        rows = run_sql(sql.ANSWERED_BEFORE, {"workspace": asking.workspace.pk, "key": key})
        answers = Answer.objects.in_workspace(asking.workspace)
        return answers.filter(pk=rows[0][0]).first() if rows else None


def copied(earlier: Answer) -> dict[str, object]:
    """What a new answer takes from one given before; in its workspace's scope."""
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
    """In the scope of their workspace."""
    kept = Citation.objects.in_workspace(earlier.workspace_id).filter(answer=earlier)
    cited = list(kept.exclude(document=None).values_list("document_id", flat=True))
    values = {"workspace": earlier.workspace_id, "documents": cited}
    run_sql(citing_sql.HOLD_DOCUMENTS, values)
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
    """Passages, answer and what else it is shown by, after what the new answer has said already."""
    values = {"workspace": answer.workspace_id, "answer": answer.pk, "earlier": earlier.pk}
    run_sql(sql.COPY_EVENTS, values)


@cache
def _prompts() -> str:
    """A digest of what models are asked with."""
    digest = hashlib.sha256()
    for path in sorted(PROMPTS.glob("*.md")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
