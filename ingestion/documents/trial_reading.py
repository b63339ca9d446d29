"""How much there is to read in a file: it is read and cut as it would be once added, and nothing is
stored.

Passages that hold nothing but a licence, a menu or a contents list do not count: no model reads
them.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import IO, Final, LiteralString, TypeVar
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile

from ingestion.documents import estimates, services, versions
from ingestion.documents.cost_model import Estimate, Extent, Range
from ingestion.documents.estimates import FileSize
from ingestion.documents.queries import document_get
from ingestion.models import Chunk, Document, DocumentVersion
from ingestion.models.communities import SMALLEST_WRITTEN
from ingestion.parsers.sandbox import default_sandbox
from ingestion.stages import parse
from ingestion.stages.chunk.cutting import cut_up
from ingestion.stages.chunk.publish import earlier_of, match, seen_anew
from kb_project.errors import ParseError
from kb_project.sql import run_sql
from kb_project.text.regions import from_json, is_furniture
from kb_project.text.sentences import sentence_spans
from kb_project.text.words import one_line
from workspaces import access
from workspaces.models import Workspace

File = TypeVar("File")
MOST_READ: Final = 32 * 1024 * 1024
"""Bytes of files that are read for an estimate, a matter of seconds; more are estimated by size."""

# Summaries above passages, topics of the entities that lost sentences mention, and the tokens that
# were extracted from each passage.
ABOVE: Final[LiteralString] = """
WITH RECURSIVE above AS (
    SELECT parent_id FROM ingestion_summaryedge
     WHERE workspace_id = %(workspace)s AND chunk_id = ANY(%(chunks)s::uuid[])
    UNION
    SELECT edge.parent_id
      FROM above
      JOIN ingestion_summaryedge AS edge
        ON edge.workspace_id = %(workspace)s AND edge.node_id = above.parent_id)
SELECT (SELECT count(*) FROM above),
       (SELECT count(DISTINCT topic.id)
          FROM unnest(%(lost)s::uuid[], %(starts)s::int[], %(ends)s::int[])
               AS lost (chunk_id, first, past)
          JOIN ingestion_mention AS mention
            ON mention.workspace_id = %(workspace)s AND mention.chunk_id = lost.chunk_id
           AND mention.start >= lost.first AND mention.start < lost.past
          JOIN ingestion_communitymember AS member
            ON member.workspace_id = %(workspace)s AND member.entity_id = mention.entity_id
          JOIN ingestion_community AS topic
            ON topic.workspace_id = %(workspace)s AND topic.id = member.community_id
         WHERE topic.size >= %(least)s),
       (SELECT sum(completion_tokens)::float / nullif(count(DISTINCT chunk_id), 0)
          FROM (SELECT DISTINCT ON (chunk_id, key) chunk_id, completion_tokens
                  FROM workspaces_modelcall
                 WHERE workspace_id = %(workspace)s AND document_id = %(document)s
                   AND chunk_id = ANY(%(chunks)s::uuid[])
                   AND stage = 'extract' AND state IN ('done', 'cached')) AS replies)
"""


def replacement_estimate(
    *, workspace: Workspace, document_id: UUID, file: IO[bytes], name: str
) -> Estimate:
    """Estimate the cost of replacing a document with an uploaded file.

    Call outside transactions. Raises what ``replacement_extent`` does.
    """
    with copied(file) as path:
        size = path.stat().st_size
        extent = replacement_extent(
            workspace=workspace, document_id=document_id, path=path, name=name
        )
    return estimates.estimate_for_files(workspace=workspace, files=[FileSize(name, size, extent)])


def uploads_estimate(
    *, workspace: Workspace, files: Sequence[UploadedFile], others: Sequence[FileSize] = ()
) -> Estimate:
    """Estimate the cost of adding uploaded files, read as far as they are few enough, and of others
    that are not here.

    Call outside transactions.
    """
    sizes = {file: file.size or 0 for file in files}
    with ExitStack() as copies:
        by_path = {copies.enter_context(copied(file)): file for file in few_of(sizes)}
        names = {path: file.name or "" for path, file in by_path.items()}
        read = new_extents(workspace=workspace, files=names)
    extents = {by_path[path]: extent for path, extent in read.items()}
    given = [FileSize(file.name or "", size, extents.get(file)) for file, size in sizes.items()]
    return estimates.estimate_for_files(workspace=workspace, files=[*given, *others])


@contextmanager
def copied(file: IO[bytes]) -> Iterator[Path]:
    """Copy an uploaded file to the disk for a block, for the confined reader."""
    with tempfile.NamedTemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        yield Path(copy.name)


def few_of(sizes: Mapping[File, int]) -> list[File]:
    """Return the first files, as many as are read for an estimate.

    >>> few_of({"a": 10, "b": MOST_READ, "c": 1})
    ['a']
    """
    together = accumulate(sizes.values())
    return [file for file, size in zip(sizes, together, strict=True) if size <= MOST_READ]


def new_extents(*, workspace: Workspace, files: Mapping[Path, str]) -> dict[Path, Extent]:
    """Return how much of each file, given with its name, would be read as a new document, without
    those that cannot be read.

    Call outside transactions.
    """
    named = [(path, services.label_of(name)) for path, name in files.items()]
    found = {}
    for (path, name), parsed in zip(
        named, default_sandbox().parse_many(named, limits=parse.limits()), strict=True
    ):
        if not isinstance(parsed, ParseError):
            document = Document(workspace=workspace, name=name, title=name)
            version = DocumentVersion(workspace=workspace, document=document, number=1, name=name)
            parse.fill(version, parsed, workspace.document_language)
            found[path] = _extent_of(cut_up(version), known=())
    return found


def replacement_extent(*, workspace: Workspace, document_id: UUID, path: Path, name: str) -> Extent:
    """Return how much of a file would be read as the document's next version: passages that the
    live text has are known.

    Call outside transactions. Raises UploadError and ConflictError as
    ``versions.document_replace`` does, and ParseError if the file cannot be read: it would replace
    nothing.
    """
    with path.open("rb") as file:
        version = versions.version_of_file(workspace=workspace, file=file, name=name)
    with access.in_workspace(workspace.pk):
        document = document_get(workspace=workspace, document_id=document_id)
        versions.place_next(document, version)
    parsed = default_sandbox().parse(path, name=version.name, limits=parse.limits())
    parse.fill(version, parsed, workspace.document_language)
    with access.in_workspace(workspace.pk):
        rows = DocumentVersion.objects.in_workspace(workspace).filter(document=document)
        current = rows.filter(DocumentVersion.IS_LIVE_VERSION).select_related("document")
        live = current.defer("text").first()
        passages = Chunk.objects.in_workspace(workspace).filter(document=document)
        published = list(passages.order_by("ordinal"))
    new = cut_up(version, earlier_of(version))
    matching = match(published, new)
    again, _ = seen_anew(matching, live, version, uses_model=True)
    known = [after for before, after in matching.kept if before.pk not in again]
    changed = [*(chunk for chunk in published if chunk.pk in again), *matching.gone]
    if matching.new and not changed:
        # What is added joins what is there.
        changed = published[-1:]
    lost = list(_lost(changed, again, version.text))
    return _changing(_extent_of(new, known=known), document, changed, lost)


def _lost(
    chunks: Sequence[Chunk], again: Container[UUID], text: str
) -> Iterator[tuple[UUID, int, int]]:
    """Yield where the passages say what the new text does not, sentence by sentence, and those that
    are read again as a whole.
    """
    said = one_line(text)
    for chunk in chunks:
        for start, end in sentence_spans(chunk.text):
            if chunk.pk in again or one_line(chunk.text[start:end]) not in said:
                yield chunk.pk, chunk.start + start, chunk.start + end


def _changing(
    extent: Extent,
    document: Document,
    changed: Sequence[Chunk],
    lost: Sequence[tuple[UUID, int, int]],
) -> Extent:
    """Add what a model writes again: surely the summaries above the passages that change, perhaps
    the reports on the names in the lost sentences, and one on new names.
    """
    values = {
        "workspace": document.workspace_id,
        "document": document.pk,
        "chunks": [chunk.pk for chunk in changed],
        "least": SMALLEST_WRITTEN,
        "lost": [chunk for chunk, _, _ in lost],
        "starts": [start for _, start, _ in lost],
        "ends": [end for _, _, end in lost],
    }
    with access.in_workspace(document.workspace_id):
        [(summaries, reports, answer)] = run_sql(ABOVE, values)
    above = {}
    if changed:
        above = {"tree": Range(summaries, summaries), "reports": Range(0, 1 + reports)}
    return replace(extent, above=above, answer=answer)


def _extent_of(chunks: Sequence[Chunk], *, known: Sequence[Chunk]) -> Extent:
    found, kept = _with_prose(chunks), len(_with_prose(known))
    tokens = sum(chunk.tokens for chunk in found)
    return Extent(Range(tokens, tokens), Range(len(found), len(found)), kept, kept)


def _with_prose(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [one for one in chunks if not is_furniture(one.text, from_json(one.regions))]
