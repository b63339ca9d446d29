"""What replacing a document with a file costs: the file is read as the next version would be, and
compared with the live one. Nothing is stored.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import IO
from uuid import UUID

from ingestion.documents import estimates, versions
from ingestion.documents.cost_model import Estimate, Extent, Range
from ingestion.documents.estimates import FileSize
from ingestion.documents.queries import document_get
from ingestion.models import Chunk, DocumentVersion
from ingestion.parsers.sandbox import default_sandbox
from ingestion.stages import parse
from ingestion.stages.chunk.cutting import cut_up
from ingestion.stages.chunk.publish import earlier_of, match, seen_anew
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
        size = FileSize(name, copy.tell(), extent=extent)
    return estimates.estimate_for_files(workspace=workspace, files=[size])


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
    with access.in_workspace(workspace.pk):
        rows = DocumentVersion.objects.in_workspace(workspace).filter(document=document)
        current = rows.filter(DocumentVersion.IS_LIVE_VERSION).select_related("document")
        live = current.defer("text").first()
        passages = Chunk.objects.in_workspace(workspace).filter(document=document)
        published = list(passages.order_by("ordinal"))
    parse.fill(version, parsed, workspace.document_language)
    new = cut_up(version, earlier_of(version))
    matching = match(published, new)
    again, _ = seen_anew(matching, live, version, uses_model=True)
    kept = len(matching.kept) - len(set(again))
    tokens = sum(chunk.tokens for chunk in new)
    return Extent(Range(tokens, tokens), Range(len(new), len(new)), kept, kept)
