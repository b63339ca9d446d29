"""Compares documents' rows with their extractions and the active rulings.

The graph's rows are a function of the two: each document is resolved again without writing, and the
result is compared with its rows.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Final, LiteralString

from ingestion.health.report import Found
from ingestion.health.scope import Scope, found_in
from ingestion.resolution.keys import entity_id, link_id
from ingestion.stages.resolve import applying
from ingestion.stages.resolve.names import Resolution
from ingestion.stages.resolve.saving import PREDICATE_LENGTH
from kb_project.sql import run_sql

GROUP: Final = 64
"""Documents resolved at a time."""

Said = Counter[Hashable]

VERSIONS: Final[LiteralString] = """
SELECT document_id, id FROM ingestion_documentversion
 WHERE workspace_id = %(workspace)s AND id = ANY (%(resolve)s::uuid[]) ORDER BY document_id
"""
# All rows of the documents' names and facts, each as one text with its document.
ROWS: Final[LiteralString] = """
SELECT document_id, 'mention', concat_ws(' ', entity_id, chunk_id, start, "end")
  FROM ingestion_mention
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
UNION ALL
SELECT document_id, 'evidence', concat_ws(' ', relationship_id, chunk_id, start, predicate)
  FROM ingestion_evidence
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
UNION ALL
SELECT document_id, 'fragment', concat_ws(' ', entity_id, chunk_id, start, "end", text)
  FROM ingestion_fragment
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
UNION ALL
SELECT document_id, 'claim',
       concat_ws(' ', subject_id, coalesce(object_id::text, '-'), chunk_id, start, "end",
                 description)
  FROM ingestion_claim
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
UNION ALL
SELECT document_id, 'hidden', key
  FROM ingestion_hiddenname
 WHERE workspace_id = %(workspace)s AND document_id = ANY (%(documents)s::uuid[])
"""


def find(scope: Scope) -> Found:
    """Find documents with missing or unexpected rows."""
    versions: dict[uuid.UUID, uuid.UUID] = dict(run_sql(VERSIONS, scope.values))
    documents = sorted(versions)
    groups = (documents[first : first + GROUP] for first in range(0, len(documents), GROUP))
    return found_in(
        [
            (str(document_id), document_id)
            for group in groups
            for document_id in _differing(scope.workspace_id, {one: versions[one] for one in group})
        ]
    )


def _differing(
    workspace_id: uuid.UUID, versions: Mapping[uuid.UUID, uuid.UUID]
) -> Iterator[uuid.UUID]:
    there: defaultdict[uuid.UUID, Said] = defaultdict(Counter)
    values = {"workspace": workspace_id, "documents": list(versions)}
    for document_id, kind, text in run_sql(ROWS, values):
        there[document_id][kind, text] += 1
    for resolution in applying.read_documents(workspace_id, versions):
        if said_by(workspace_id, resolution) != there[resolution.document_id]:
            yield resolution.document_id


def said_by(workspace_id: uuid.UUID, resolution: Resolution) -> Said:
    """Return the rows that ``saving`` writes. Duplicate mentions or quotes of a place are stored
    once.
    """
    once = {*_mentions(workspace_id, resolution), *_evidence(workspace_id, resolution)}
    once |= {("hidden", key) for key in resolution.hidden}
    said: Said = Counter(once)
    for note in resolution.notes:
        entity, quote = entity_id(workspace_id, *note.entity), note.fragment
        text = _text(entity, note.chunk_id, quote.start, quote.end, quote.text)
        said["fragment", text] += 1
    said.update(_claims(workspace_id, resolution))
    return said


def _mentions(workspace_id: uuid.UUID, resolution: Resolution) -> Iterator[Hashable]:
    for name in resolution.names:
        entity = entity_id(workspace_id, *name.entity)
        yield "mention", _text(entity, name.chunk_id, name.start, name.end)


def _evidence(workspace_id: uuid.UUID, resolution: Resolution) -> Iterator[Hashable]:
    for fact in resolution.facts:
        link = link_id(workspace_id, fact.source, fact.target)
        predicate = fact.relation.predicate[:PREDICATE_LENGTH]
        yield "evidence", _text(link, fact.chunk_id, fact.relation.start, predicate)


def _claims(workspace_id: uuid.UUID, resolution: Resolution) -> Iterator[Hashable]:
    for said in resolution.statements:
        subject, claim = entity_id(workspace_id, *said.subject), said.claim
        about = entity_id(workspace_id, *said.object) if said.object else "-"
        place = (said.chunk_id, claim.start, claim.end)
        yield "claim", _text(subject, about, *place, claim.description)


def _text(*parts: object) -> str:
    return " ".join(map(str, parts))
