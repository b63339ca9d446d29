"""How much there is to read in a file: it is read and cut as it would be once added, and nothing is
stored.

Passages that hold nothing but a licence, a menu or a contents list do not count: no model reads
them.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from uuid import UUID

from ingestion.documents import estimates, services, versions
from ingestion.documents.cost_model import Estimate, Extent, Range
from ingestion.documents.estimates import FileSize
from ingestion.documents.queries import document_get
from ingestion.models import Chunk, Document, DocumentVersion
from ingestion.parsers.sandbox import default_sandbox
from ingestion.stages import parse
from ingestion.stages.chunk.cutting import cut_up
from ingestion.stages.chunk.publish import earlier_of, match, seen_anew
from kb_project.errors import ParseError
from kb_project.text.regions import from_json, is_furniture
from workspaces import access
from workspaces.models import Workspace


def replacement_estimate(
    *, workspace: Workspace, document_id: UUID, file: IO[bytes], name: str
) -> Estimate:
    """Estimate the cost of replacing a document with an uploaded file.

    Call outside transactions. Raises what ``replacement_extent`` does.
    """
    with tempfile.NamedTemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        extent = replacement_extent(
            workspace=workspace, document_id=document_id, path=Path(copy.name), name=name
        )
        size = FileSize(name, copy.tell(), extent)
    return estimates.estimate_for_files(workspace=workspace, files=[size])


def new_extents(*, workspace: Workspace, paths: Sequence[Path]) -> dict[Path, Extent]:
    """Return how much of each file would be read as a new document, without those that cannot be
    read.

    Call outside transactions.
    """
    files = [(path, services.label_of(path.name)) for path in paths]
    found = {}
    for (path, name), parsed in zip(
        files, default_sandbox().parse_many(files, limits=parse.limits()), strict=True
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
    return _extent_of(new, known=known)


def _extent_of(chunks: Sequence[Chunk], *, known: Sequence[Chunk]) -> Extent:
    found, kept = _with_prose(chunks), len(_with_prose(known))
    tokens = sum(chunk.tokens for chunk in found)
    return Extent(Range(tokens, tokens), Range(len(found), len(found)), kept, kept)


def _with_prose(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [one for one in chunks if not is_furniture(one.text, from_json(one.regions))]
