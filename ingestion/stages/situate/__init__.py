"""Situate: describe each chunk's place in its document, and index its words.

In: the chunks of a group of versions.  Out: each chunk's context, kept apart from its text, and the
postings of both: from here on the document can be found by words. With a chat model, a document of
several chunks is first indexed with the context from its own headings, so that it can be found
while the model works; the model's sentence is then added after the headings.
Safe to repeat: contexts are overwritten and postings replaced, in one transaction per batch; a
vector is deleted with the context it was made from. The model's replies are cached. A chunk whose
context is unchanged is skipped, and so is one that the current model has already situated under the
same headings.
Source: Contextual Retrieval (Anthropic, 2024); without a model the context is taken from the
document itself.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from ingestion.extractors.situating import situate
from ingestion.models import Chunk, DocumentVersion, IngestionJob
from ingestion.stage import Progress, StageOutcome, versions_of
from ingestion.stages.situate.asking import ask, warnings_of
from ingestion.stages.situate.situated import Situated
from ingestion.stages.situate.words import index
from kb_project.llm.ports import Role
from kb_project.ports import Ports
from workspaces import access

MODEL_LENGTH = 120


def run(jobs: Sequence[IngestionJob], ports: Ports, progress: Progress) -> list[StageOutcome]:
    group = load_group(jobs)
    asked = [each for each in group if ports.chat and len(each.chunks) > 1]
    model = model_of(ports)
    for each in asked:
        keep_said(each, model)
    # All words of the others were indexed in an earlier run.
    new = [
        each
        for each in group
        if each not in asked or any(chunk.terms is None for chunk in each.chunks)
    ]
    index(jobs[0].workspace_id, new, progress)
    if ports.chat is not None and asked:
        ask(ports.chat, asked, progress)
        index(jobs[0].workspace_id, asked, progress)
    sign(jobs[0].workspace_id, ports, asked, group)
    return [StageOutcome(written=each.written, warnings=warnings_of(each)) for each in group]


def sign(
    workspace_id: uuid.UUID, ports: Ports, asked: Sequence[Situated], group: Sequence[Situated]
) -> None:
    """Record which model situated each version, or that none did."""
    model = model_of(ports)
    by_model = {each.version.pk for each in asked}
    wrong: dict[str, list[uuid.UUID]] = {}
    for version in (each.version for each in group):
        signature = model if version.pk in by_model else ""
        if version.situated_by != signature:
            wrong.setdefault(signature, []).append(version.pk)
    with access.in_workspace(workspace_id):
        versions = DocumentVersion.objects.in_workspace(workspace_id)
        for signature, ids in wrong.items():
            versions.filter(pk__in=ids).update(situated_by=signature)


def model_of(ports: Ports) -> str:
    return ports.chat.model_of(Role.SITUATE)[:MODEL_LENGTH] if ports.chat else ""


def keep_said(each: Situated, model: str) -> None:
    """Keep the model's earlier sentences on unchanged passages."""
    if each.version.situated_by != model:
        return
    each.said = frozenset(
        place
        for place, (before, local) in enumerate(zip(each.before, each.local, strict=True))
        if local and before.startswith(f"{local}\n")
    )
    for place in each.said:
        each.chunks[place].context = each.before[place]


def load_group(jobs: Sequence[IngestionJob]) -> list[Situated]:
    versions = versions_of(jobs)
    chunks: dict[uuid.UUID, list[Chunk]] = {version.pk: [] for version in versions}
    with access.in_workspace(jobs[0].workspace_id):
        rows = Chunk.objects.in_workspace(jobs[0].workspace_id).filter(version__in=list(chunks))
        for chunk in rows.order_by("version_id", "ordinal"):
            chunks[chunk.version_id].append(chunk)
    return [situated_by_itself(version, chunks[version.pk]) for version in versions]


def situated_by_itself(version: DocumentVersion, chunks: list[Chunk]) -> Situated:
    before = [chunk.context for chunk in chunks]
    several = len(chunks) > 1
    local = [context_of(chunk, version) if several else title_of(version) for chunk in chunks]
    for chunk, context in zip(chunks, local, strict=True):
        chunk.context = context
    return Situated(version, chunks, local, before)


def title_of(version: DocumentVersion) -> str:
    """The only context needed by a chunk that is a whole document."""
    return version.document.title


def context_of(chunk: Chunk, version: DocumentVersion) -> str:
    return situate(
        version.text,
        title=version.document.title,
        headings=[(level, title, start) for level, title, start in version.headings],
        start=chunk.start,
        end=chunk.end,
    )
