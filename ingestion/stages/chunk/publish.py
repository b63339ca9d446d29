"""Publish a version's chunks, so that searches of its document see them.

Passages that the previous version also had keep their rows, with their vectors, words, extractions
and the facts that rest on them: they move to the new version, and their offsets are shifted.
Removed passages take what depends on them along. The entities and relationships they mentioned are
marked, so that the next refresh reconsiders them.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from ingestion.changes import version_changes
from ingestion.models import Chunk, ChunkExtraction, Document, DocumentVersion, IngestionJob
from ingestion.resolution import locks
from ingestion.stages.chunk import rows
from ingestion.stages.chunk.cutting import Earlier
from ingestion.vectors import sentences
from kb_project.sql import run_sql
from workspaces import access


@dataclass(frozen=True, slots=True)
class Cut:
    """A version and the chunks its text was cut into."""

    job: IngestionJob
    version: DocumentVersion
    chunks: list[Chunk]


@dataclass(frozen=True, slots=True)
class Replacement:
    """How a document's published chunks become the new ones; ``before`` is its live version.

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
        versions = DocumentVersion.objects.in_workspace(workspace_id).filter(document=document)
        before = versions.filter(DocumentVersion.IS_LIVE_VERSION).only("text", "chunking").first()
        chunks = Chunk.objects.in_workspace(workspace_id).filter(version=before)
        spans = list(chunks.order_by("ordinal").values_list("start", "end"))
    return Earlier(before.text, spans) if before and spans else None


def publish_cuts(workspace_id: uuid.UUID, cuts: Sequence[Cut], *, uses_model: bool) -> None:
    """Publish the cuts. Call inside a transaction of the workspace; cancelled jobs are skipped."""
    documents = [cut.version.document_id for cut in cuts]
    values = {"workspace": workspace_id, "documents": documents}
    # No document can be archived between two looks at the same passages.
    locks.join(workspace_id)
    run_sql(rows.LOCK_DOCUMENTS, values)
    jobs = [cut.job.pk for cut in cuts]
    standing = {pk for (pk,) in run_sql(rows.STANDING_JOBS, values | {"jobs": jobs})}
    published: defaultdict[uuid.UUID, list[Chunk]] = defaultdict(list)
    chunks = Chunk.objects.in_workspace(workspace_id).filter(document_id__in=documents)
    for chunk in chunks.defer("context").order_by("document_id", "ordinal"):
        published[chunk.document_id].append(chunk)
    versions = DocumentVersion.objects.in_workspace(workspace_id).filter(
        DocumentVersion.IS_LIVE_VERSION, document_id__in=documents
    )
    live = {one.document_id: one for one in versions.select_related("document").defer("text")}
    replacements = []
    for cut in cuts:
        if cut.job.pk in standing:
            document = cut.version.document_id
            chunks_before, before = published[document], live.get(document)
            replacements.append(_replacement(cut, chunks_before, before, uses_model=uses_model))
    if touched := [
        one for one in replacements if one.goes_live or one.matching.kept or one.matching.gone
    ]:
        _replace(workspace_id, touched)
    rows.add([chunk for one in replacements for chunk in one.matching.new])


def _replacement(
    cut: Cut, published: Sequence[Chunk], before: DocumentVersion | None, *, uses_model: bool
) -> Replacement:
    matching = match(published, cut.chunks)
    read, embed = seen_anew(matching, before, cut.version, uses_model=uses_model)
    return Replacement(cut, matching, before, read, embed)


def seen_anew(
    matching: Matching,
    before: DocumentVersion | None,
    version: DocumentVersion,
    *,
    uses_model: bool,
) -> tuple[tuple[uuid.UUID, ...], tuple[uuid.UUID, ...]]:
    """Return the ids of the kept passages to be read again, and of those to be embedded again:
    their text is the same, but not what they are shown with."""
    # Models are shown title and language with every passage.
    if (
        before
        and before.pk != version.pk
        and (
            before.language != version.language
            or title_after(before, version) != before.document.title
        )
    ):
        kept = tuple(old.pk for old, _ in matching.kept)
        return kept, kept
    prose = tuple(old.pk for old, new in matching.kept if old.regions != new.regions)
    # Models are shown the headings with the passage, and sentences are embedded under theirs.
    moved = tuple(
        old.pk for old, new in matching.kept if list(old.heading_path) != list(new.heading_path)
    )
    return prose + (moved if uses_model else ()), prose + moved


def title_after(before: DocumentVersion, version: DocumentVersion) -> str:
    """The document's title after the change of version.

    A title given by a person stays, and so does the old one if the version has none of its own.
    Files are often renamed: a new name is no reason to read everything again.
    """
    document = before.document
    was_read = document.title in (before.title, *_names_of(document.name))
    has_own = version.title not in ("", *_names_of(version.name))
    return version.title if was_read and has_own else document.title


def _names_of(file: str) -> tuple[str, str]:
    """A file's name, and the title derived from it for a text that has none.

    >>> _names_of("the_log.md")
    ('the_log.md', 'the log')
    """
    return file, " ".join(PurePath(file).stem.replace("_", " ").split())


def _replace(workspace_id: uuid.UUID, replacements: Sequence[Replacement]) -> None:
    documents = [one.version.document_id for one in replacements]
    values: dict[str, Any] = {"workspace": workspace_id, "documents": documents}
    run_sql(rows.LOCK_ENTITIES, values)
    run_sql(rows.LOCK_RELATIONSHIPS, values)
    live = [one for one in replacements if one.goes_live]
    for one in live:
        if one.before:
            # What was known until now, to compare once the new version has been read.
            changes = version_changes.PassageChanges(
                asdict(counts_of(one.matching)),
                gone=[chunk.pk for chunk in one.matching.gone],
                new=[chunk.pk for chunk in one.matching.new],
                read_again=one.read_again,
            )
            version_changes.capture(workspace_id, one.before, one.version, changes)
    gone = [chunk.pk for one in replacements for chunk in one.matching.gone]
    rows.remove(workspace_id, documents, gone)
    kept = [pair for one in replacements for pair in one.matching.kept]
    rows.move(workspace_id, kept)
    rows.shift(workspace_id, documents, {old.pk: new.start - old.start for old, new in kept})
    if read_again := [pk for one in replacements for pk in one.read_again]:
        # No method means to be read again; earlier findings stay until then.
        extractions = ChunkExtraction.objects.in_workspace(workspace_id)
        extractions.filter(chunk_id__in=read_again).update(method="")
    if embed_again := [pk for one in replacements for pk in one.embed_again]:
        sentences.forget(workspace_id, embed_again)
    if live:
        _go_live(workspace_id, live)


def _go_live(workspace_id: uuid.UUID, replacements: Sequence[Replacement]) -> None:
    documents = [_document_after(one.before, one.version) for one in replacements if one.before]
    run_sql(
        rows.GO_LIVE,
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
    for one in replacements:
        # The signature of the model that situated the old version: its contexts stay in use.
        version = one.version
        version.situated_by = one.before.situated_by if one.before else ""
        versions = DocumentVersion.objects.in_workspace(workspace_id).filter(pk=version.pk)
        versions.update(situated_by=version.situated_by, chunking=version.chunking)
    jobs = [one.cut.job.pk for one in replacements]
    run_sql(rows.SET_ASIDE, {"workspace": workspace_id, "jobs": jobs})


def _document_after(before: DocumentVersion, version: DocumentVersion) -> Document:
    """The document with the version's properties, for the stages that follow."""
    now, document = before.document, version.document
    document.title = title_after(before, version)
    document.live_number = version.number
    document.name = version.name or now.name
    document.media_type = version.media_type or now.media_type
    document.size = version.size or now.size
    document.sha256 = version.sha256 or now.sha256
    return document


# --- matching passages ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Matching:
    """``kept`` pairs each existing chunk with what it becomes; all in the order of their texts."""

    kept: tuple[tuple[Chunk, Chunk], ...]
    new: tuple[Chunk, ...]
    gone: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """Passages of two versions. One that is gone where another is new counts as ``changed``."""

    kept: int
    changed: int
    new: int
    gone: int


def match(old: Sequence[Chunk], new: Sequence[Chunk]) -> Matching:
    """Match passages by equal text, in one pass per key.

    First those at exactly the offsets their id says, so that no new passage gets the id of a kept
    one; then those under the same headings; then those with the same words, the first with the
    first: a moved passage stays the same passage.
    """
    keys: tuple[Callable[[Chunk], Hashable], ...] = (
        lambda one: (one.pk, one.text),
        lambda one: (one.text, tuple(one.heading_path)),
        lambda one: one.text,
    )
    found: dict[int, int] = {}
    for key_of in keys:
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        taken = set(found.values())
        for place, one in enumerate(old):
            if place not in taken:
                waiting[key_of(one)].append(place)
        for place, one in enumerate(new):
            if place not in found and waiting[key_of(one)]:
                found[place] = waiting[key_of(one)].popleft()
    taken = set(found.values())
    return Matching(
        kept=tuple((old[before], new[after]) for after, before in sorted(found.items())),
        new=tuple(one for place, one in enumerate(new) if place not in found),
        gone=tuple(one for place, one in enumerate(old) if place not in taken),
    )


def counts_of(matching: Matching) -> Counts:
    """Count a removed and a new passage after the same kept one as one that changed."""
    gone = _behind(matching.gone, [old for old, _ in matching.kept])
    new = _behind(matching.new, [one for _, one in matching.kept])
    changed = sum(min(number, new[place]) for place, number in gone.items())
    return Counts(
        kept=len(matching.kept),
        changed=changed,
        new=len(matching.new) - changed,
        gone=len(matching.gone) - changed,
    )


def _behind(some: Iterable[Chunk], kept: Sequence[Chunk]) -> Counter[int]:
    """How many come after each kept passage, by its index in ``kept``; -1 is the beginning."""
    ordinals = [one.ordinal for one in kept]
    places = {ordinal: place for place, ordinal in enumerate(ordinals)}
    ordinals.sort()
    befores = (bisect_left(ordinals, one.ordinal) for one in some)
    return Counter(places[ordinals[before - 1]] if before else -1 for before in befores)
