"""What is lost when documents go, and what remains because other sources support it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

from ingestion.models import Document, HistoryEvent
from kb_project.sql import bulk_plans, run_sql
from kb_project.text.words import counted
from workspaces import access
from workspaces.models import Workspace

# A fact made by a person needs no document. OFFSET 0: asked about each, until one source is found,
# instead of reading all that is known of what thousands of documents name.
LOSSES: Final[LiteralString] = """
WITH passages AS (
    SELECT count(*) AS number FROM ingestion_chunk
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), archived AS (
    SELECT count(*) AS number FROM ingestion_shelvedchunk
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), stated AS MATERIALIZED (
    SELECT DISTINCT relationship_id AS id FROM ingestion_evidence
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), named AS MATERIALIZED (
    SELECT DISTINCT entity_id AS id FROM ingestion_mention
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
), elsewhere AS (
    SELECT r.id FROM ingestion_relationship AS r
     WHERE r.workspace_id = %(workspace)s AND r.id = ANY (ARRAY(SELECT id FROM stated))
       AND (r.is_made OR EXISTS (
           SELECT FROM ingestion_evidence AS v
            WHERE v.workspace_id = %(workspace)s AND v.relationship_id = r.id
              AND v.document_id <> ALL(%(documents)s::uuid[]) OFFSET 0))
), known AS (
    SELECT e.id FROM ingestion_entity AS e
     WHERE e.workspace_id = %(workspace)s AND e.id = ANY (ARRAY(SELECT id FROM named))
       AND (e.is_made OR EXISTS (
           SELECT FROM ingestion_mention AS m
            WHERE m.workspace_id = %(workspace)s AND m.entity_id = e.id
              AND m.document_id <> ALL(%(documents)s::uuid[]) OFFSET 0))
)
SELECT passages.number + archived.number, (SELECT count(*) FROM stated),
       (SELECT count(*) FROM elsewhere), (SELECT count(*) FROM named), (SELECT count(*) FROM known)
  FROM passages, archived
"""


@dataclass(frozen=True, slots=True)
class Losses:
    """Counts of passages, facts and entities lost, and of facts and entities that keep a source."""

    documents: int
    passages: int
    facts: int
    facts_kept: int
    entities: int
    entities_kept: int

    @property
    def sentence(self) -> str:
        """Describe the losses, without the documents' names.

        >>> Losses(1, 2, 31, 0, 4, 20).sentence
        '2 passages will no longer be searched; 31 facts lose their only source.'
        >>> Losses(1, 1, 1, 0, 1, 0).sentence
        '1 passage will no longer be searched; 1 fact loses its only source.'
        >>> Losses(1, 0, 0, 0, 0, 0).sentence
        'Nothing has been read in it.'
        """
        parts = []
        if self.passages:
            parts.append(f"{counted(self.passages, 'passage')} will no longer be searched")
        parts += self.facts_in_words()
        nothing = f"Nothing has been read in {'it' if self.documents == 1 else 'them'}."
        return f"{'; '.join(parts)}." if parts else nothing

    def facts_in_words(self) -> list[str]:
        parts = []
        if self.facts:
            verb = "loses its" if self.facts == 1 else "lose their"
            parts.append(f"{counted(self.facts, 'fact')} {verb} only source")
        if self.facts_kept:
            parts.append(f"{self.facts_kept:,} keep{'s' * (self.facts_kept == 1)} other sources")
        return parts


def losses_of(*, workspace: Workspace, documents: Sequence[uuid.UUID]) -> Losses:
    """Count what would go with the documents, live or archived."""
    values = {"workspace": workspace.pk, "documents": list(documents)}
    with access.in_workspace(workspace.pk), bulk_plans():
        [(passages, facts, facts_kept, entities, known)] = run_sql(LOSSES, values)
    return Losses(
        documents=len(documents),
        passages=passages,
        facts=facts - facts_kept,
        facts_kept=facts_kept,
        entities=entities - known,
        entities_kept=known,
    )


def into_trash(document: Document, losses: Losses, days: int) -> str:
    """Describe the consequences of moving the document to the trash."""
    follows = losses.sentence if document.is_live else "It is not searched now."
    return f"{follows} It can be restored for {counted(days, 'day')}."


def for_good(documents: Sequence[Document], losses: Losses) -> str:
    """Describe the consequences of deleting the documents for good."""
    is_one = len(documents) == 1
    named = f"“{documents[0].title}”" if is_one else counted(len(documents), "document")
    parts = [f"Deleting {named} removes {counted(losses.passages, 'passage')}"]
    parts += losses.facts_in_words()
    cited = ("it", "its number") if is_one else ("them", "their numbers")
    kept = f"Answers that cite {cited[0]} keep {cited[1]}, but lose the quotes."
    return f"{'; '.join(parts)}. {kept}"


def notes_on_return(event: HistoryEvent) -> list[str]:
    """Say what to know of restored documents: others like them, and what is still to come."""
    notes = []
    if event.details.get("names_follow"):
        notes.append(
            "They can be searched. Their names and facts follow: Documents shows how far this is."
        )
    if titles := event.details.get("twins"):
        others = f", and {len(titles) - 1} more" if len(titles) > 1 else ""
        both = "All" if len(titles) > 1 else "Both"
        notes.append(f"There is also a document called “{titles[0]}”{others}. {both} are searched.")
    return notes
