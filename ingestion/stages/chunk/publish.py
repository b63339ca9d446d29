"""Publish a version's chunks, so that searches of its document see them.

Passages that the previous version also had keep their rows, with their vectors, words, extractions
and the facts that rest on them: they move to the new version, and their offsets are shifted.
Removed passages take what depends on them along. The entities and relationships they mentioned are
marked, so that the next refresh reconsiders them.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import PurePath
from typing import Any, Final, LiteralString

from ingestion.changes import invalidation, version_changes
from ingestion.models import Chunk, Document, DocumentVersion, IngestionJob
from ingestion.resolution import locks
from ingestion.stages.chunk import sql
from ingestion.stages.chunk.cutting import Earlier
from ingestion.stages.chunk.matching import Matching, counts_of, match
from ingestion.stages.chunk.offsets import shift
from ingestion.vectors import sentences
from kb_project.sql import run_sql
from workspaces import access

BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Cut:
    """A version and the chunks its text was cut into."""

    job: IngestionJob
    version: DocumentVersion
    chunks: list[Chunk]


@dataclass(frozen=True, slots=True)
class Step:
    """The step from a document's published chunks to the new ones; ``before`` is its live version.

    ``read_again`` and ``embed_again`` are kept chunks whose context has changed.
    """

    cut: Cut
    matching: Matching
    before: DocumentVersion | None
    read_again: tuple[uuid.UUID, ...]
    embed_again: tuple[uuid.UUID, ...]

    @property
    def version(self) -> DocumentVersion:
        return self.cut.version

    @property
    def goes_live(self) -> bool:
        return self.before is not None and self.before.pk != self.version.pk


def earlier_of(version: DocumentVersion) -> Earlier | None:
    """The document's live text and spans, if this version is to replace it."""
    document = version.document
    if version.number in (1, document.live_number):
        return None
    workspace_id = version.workspace_id
    with access.in_workspace(workspace_id):
        rows = DocumentVersion.objects.in_workspace(workspace_id).filter(document=document)
        before = rows.filter(DocumentVersion.IS_LIVE).only("text", "chunking").first()
        chunks = Chunk.objects.in_workspace(workspace_id).filter(version=before)
        spans = list(chunks.order_by("ordinal").values_list("start", "end"))
    return Earlier(before.text, spans) if before and spans else None


def live(workspace_id: uuid.UUID, cuts: Sequence[Cut], *, uses_model: bool) -> None:
    """Publish the cuts. Call inside a transaction of the workspace; cancelled jobs are skipped."""
    documents = [cut.version.document_id for cut in cuts]
    values = {"workspace": workspace_id, "documents": documents}
    # No document can be archived between two looks at the same passages.
    locks.join(workspace_id)
    run_sql(sql.LOCK_DOCUMENTS, values)
    jobs = [cut.job.pk for cut in cuts]
    standing = {pk for (pk,) in run_sql(sql.STANDING_JOBS, values | {"jobs": jobs})}
    cuts = [cut for cut in cuts if cut.job.pk in standing]
    there = _chunks_there(workspace_id, documents)
    numbers = _live_versions(workspace_id, documents)
    steps = [
        _step(
            cut,
            there[cut.version.document_id],
            numbers.get(cut.version.document_id),
            uses_model=uses_model,
        )
        for cut in cuts
    ]
    touched = [step for step in steps if step.goes_live or step.matching.kept or step.matching.gone]
    if touched:
        _replace(workspace_id, touched)
    _add([chunk for step in steps for chunk in step.matching.new])


def _chunks_there(
    workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]
) -> defaultdict[uuid.UUID, list[Chunk]]:
    there: defaultdict[uuid.UUID, list[Chunk]] = defaultdict(list)
    rows = Chunk.objects.in_workspace(workspace_id).filter(document_id__in=documents)
    for chunk in rows.defer("context").order_by("document_id", "ordinal"):
        there[chunk.document_id].append(chunk)
    return there


def _live_versions(
    workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]
) -> dict[uuid.UUID, DocumentVersion]:
    rows = DocumentVersion.objects.in_workspace(workspace_id).filter(
        DocumentVersion.IS_LIVE, document_id__in=documents
    )
    return {row.document_id: row for row in rows.select_related("document").defer("text")}


def _step(
    cut: Cut, there: Sequence[Chunk], before: DocumentVersion | None, *, uses_model: bool
) -> Step:
    matching = match(there, cut.chunks)
    if before and before.pk != cut.version.pk and _is_told_otherwise(before, cut.version):
        kept = tuple(old.pk for old, _ in matching.kept)
        return Step(cut, matching, before, kept, kept)
    prose = tuple(old.pk for old, new in matching.kept if old.regions != new.regions)
    # Models are shown the headings with the passage, and sentences are embedded under theirs.
    moved = tuple(
        old.pk for old, new in matching.kept if list(old.heading_path) != list(new.heading_path)
    )
    return Step(cut, matching, before, prose + (moved if uses_model else ()), prose + moved)


def _is_told_otherwise(before: DocumentVersion, version: DocumentVersion) -> bool:
    """Whether title or language changed: models are shown both with every passage."""
    is_other = before.language != version.language
    return is_other or title_after(before, version) != before.document.title


def title_after(before: DocumentVersion, version: DocumentVersion) -> str:
    """The document's title after the change of version.

    A title given by a person stays, and so does the old one if the version has none of its own.
    Files are often renamed: a new name is no reason to read everything again.
    """
    document = before.document
    was_read = document.title in (before.title, *names_of(document.name))
    has_own = version.title not in ("", *names_of(version.name))
    return version.title if was_read and has_own else document.title


def names_of(file: str) -> tuple[str, str]:
    """A file's name, and the title derived from it for a text that has none.

    >>> names_of("the_log.md")
    ('the_log.md', 'the log')
    """
    return file, " ".join(PurePath(file).stem.replace("_", " ").split())


def _replace(workspace_id: uuid.UUID, steps: Sequence[Step]) -> None:
    documents = [step.version.document_id for step in steps]
    values: dict[str, Any] = {"workspace": workspace_id, "documents": documents}
    run_sql(sql.LOCK_ENTITIES, values)
    run_sql(sql.LOCK_RELATIONSHIPS, values)
    _capture(workspace_id, steps)
    gone = [chunk.pk for step in steps for chunk in step.matching.gone]
    leave(workspace_id, documents, gone)
    kept = [pair for step in steps for pair in step.matching.kept]
    placed = attrgetter(*_PLACED)
    _move(workspace_id, [(old, new) for old, new in kept if placed(old) != placed(new)])
    shift(workspace_id, documents, {old.pk: new.start - old.start for old, new in kept})
    if read_again := [pk for step in steps for pk in step.read_again]:
        run_sql(sql.READ_AGAIN, {"workspace": workspace_id, "chunks": read_again})
    if embed_again := [pk for step in steps for pk in step.embed_again]:
        sentences.forget(workspace_id, embed_again)
    _go_live(workspace_id, [step for step in steps if step.goes_live])


def _capture(workspace_id: uuid.UUID, steps: Iterable[Step]) -> None:
    """Record what was known until now, to compare once the new version has been read."""
    for step in steps:
        if step.goes_live and step.before:
            passing = version_changes.Passing(
                asdict(counts_of(step.matching)),
                gone=[chunk.pk for chunk in step.matching.gone],
                new=[chunk.pk for chunk in step.matching.new],
                read_again=step.read_again,
            )
            version_changes.capture(workspace_id, step.before, step.version, passing)


_PLACED: Final = (
    "version_id",
    "ordinal",
    "start",
    "end",
    "tokens",
    "page_first",
    "page_last",
    "heading_path",
    "regions",
)


def _move(workspace_id: uuid.UUID, pairs: Sequence[tuple[Chunk, Chunk]]) -> None:
    """Move the old chunks' rows to the places of the new ones."""
    if pairs:
        chunks = [old.pk for old, _ in pairs]
        run_sql(sql.STEP_ASIDE, {"workspace": workspace_id, "chunks": chunks})
    for first in range(0, len(pairs), BATCH):
        batch = pairs[first : first + BATCH]
        columns = _columns([new for _, new in batch])
        ids = {"ids": [old.pk for old, _ in batch]}
        run_sql(sql.MOVE_CHUNKS, columns | ids | {"workspace": workspace_id})


def _add(chunks: Sequence[Chunk]) -> None:
    for first in range(0, len(chunks), BATCH):
        batch = chunks[first : first + BATCH]
        more = {"workspace": batch[0].workspace_id, "texts": [chunk.text for chunk in batch]}
        run_sql(sql.ADD_CHUNKS, _columns(batch) | more)


def _columns(chunks: Sequence[Chunk]) -> dict[str, Any]:
    return {
        "ids": [chunk.pk for chunk in chunks],
        "documents": [chunk.document_id for chunk in chunks],
        "versions": [chunk.version_id for chunk in chunks],
        "ordinals": [chunk.ordinal for chunk in chunks],
        "starts": [chunk.start for chunk in chunks],
        "ends": [chunk.end for chunk in chunks],
        "tokens": [chunk.tokens for chunk in chunks],
        "firsts": [chunk.page_first for chunk in chunks],
        "lasts": [chunk.page_last for chunk in chunks],
        "paths": [json.dumps(chunk.heading_path) for chunk in chunks],
        "regions": [json.dumps(chunk.regions) for chunk in chunks],
    }


def _go_live(workspace_id: uuid.UUID, steps: Sequence[Step]) -> None:
    if not steps:
        return
    documents = [document for step in steps if (document := _document_after(step))]
    run_sql(
        sql.GO_LIVE,
        {
            "workspace": workspace_id,
            "ids": [document.pk for document in documents],
            "numbers": [document.live_number for document in documents],
            "titles": [document.title for document in documents],
            "names": [document.name for document in documents],
            "types": [document.media_type for document in documents],
            "sizes": [document.size for document in documents],
            "digests": [document.sha256 for document in documents],
        },
    )
    for step in steps:
        # The signature of the model that situated the old version: its contexts stay in use.
        version = step.version
        version.situated_by = step.before.situated_by if step.before else ""
        versions = DocumentVersion.objects.in_workspace(workspace_id).filter(pk=version.pk)
        versions.update(situated_by=version.situated_by, chunking=version.chunking)
    jobs = [step.cut.job.pk for step in steps]
    run_sql(sql.SET_ASIDE, {"workspace": workspace_id, "jobs": jobs})


def _document_after(step: Step) -> Document | None:
    """The document with the version's properties, for the stages that follow."""
    if step.before is None:
        return None
    now, version, document = step.before.document, step.version, step.version.document
    document.title = title_after(step.before, version)
    document.live_number = version.number
    document.name = version.name or now.name
    document.media_type = version.media_type or now.media_type
    document.size = version.size or now.size
    document.sha256 = version.sha256 or now.sha256
    return document


# What the chunks mentioned is reconsidered.
MARK_ENTITIES: Final[LiteralString] = """
UPDATE ingestion_entity SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT entity_id FROM ingestion_mention
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
          AND chunk_id = ANY(%(chunks)s::uuid[]))
"""
MARK_RELATIONSHIPS: Final[LiteralString] = """
UPDATE ingestion_relationship SET is_changed = true
 WHERE workspace_id = %(workspace)s AND id IN (
       SELECT relationship_id FROM ingestion_evidence
        WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
          AND chunk_id = ANY(%(chunks)s::uuid[]))
"""


def leave(
    workspace_id: uuid.UUID, documents: Sequence[uuid.UUID], chunks: Sequence[uuid.UUID]
) -> None:
    """Remove chunks, and mark what they mentioned as changed.

    Call inside a transaction, with the documents' entities and relationships locked.
    """
    if not chunks:
        return
    values: dict[str, Any] = {
        "workspace": workspace_id,
        "documents": list(documents),
        "chunks": list(chunks),
    }
    run_sql(MARK_ENTITIES, values)
    run_sql(MARK_RELATIONSHIPS, values)
    invalidation.forget(workspace_id, chunks)
    Chunk.objects.in_workspace(workspace_id).filter(pk__in=chunks).delete()
