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

import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, LiteralString

from ingestion.extractors import situating, situating_excerpts
from ingestion.extractors.situating import situate
from ingestion.extractors.situating_excerpts import Excerpt
from ingestion.models import Chunk, ChunkEmbedding, DocumentVersion, IngestionJob, Posting
from ingestion.stage import Progress, StageOutcome, versions_of
from ingestion.vectors.chunks import situated
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.ports import Ports
from kb_project.prompt import fenced, load
from kb_project.sql import run_sql
from kb_project.text.regions import from_json, is_furniture
from kb_project.text.words import terms
from workspaces import access

PROMPT: Final = Path(__file__).parents[1] / "prompts" / "situate.md"
MODEL_LENGTH = 120
SECONDS_BETWEEN_REPORTS = 0.5
# Requests built at a time: each holds a whole document.
ASKED_AT_ONCE = 128
UNSITUATED: Final = " passages the model did not say where they"

# Chunks per transaction.
BATCH = 400
# A longer term is not a word anyone searches for, but a hash or an encoded image.
TERM_LENGTH = 80
MOST_FREQUENT = 32_767  # what the column holds

# Returns those that still exist: a chunk may have been archived or replaced meanwhile.
SITUATE_CHUNKS: Final[LiteralString] = """
UPDATE ingestion_chunk AS c SET context = t.context, terms = t.terms
  FROM unnest(%(chunks)s::uuid[], %(contexts)s::text[], %(lengths)s::int4[])
       AS t (chunk, context, terms)
 WHERE c.workspace_id = %(workspace)s AND c.id = t.chunk
RETURNING c.id
"""

# Arrays in one statement: faster than COPY through a temporary table for a document's few hundred
# rows, and row-level security refuses COPY itself.
ADD_POSTINGS: Final[LiteralString] = """
INSERT INTO ingestion_posting (workspace_id, term, chunk_id, frequency, length)
SELECT %(workspace)s, t.term, t.chunk, t.frequency, t.length
  FROM unnest(%(terms)s::text[], %(chunks)s::uuid[], %(frequencies)s::int2[], %(lengths)s::int4[])
       AS t (term, chunk, frequency, length)
"""


@dataclass(slots=True, eq=False)
class VersionInProgress:
    """A version with its chunks, whose ``context`` is replaced as the stage goes on.

    ``local`` is the context of each chunk from the document itself, ``stored`` the one in its row.
    ``by_model`` are the indexes of chunks that the model situated in an earlier run.
    """

    version: DocumentVersion
    chunks: list[Chunk]
    local: list[str]
    stored: list[str]
    by_model: frozenset[int] = frozenset()
    unanswered: int = 0
    written: int = 0


@dataclass(slots=True)
class ProgressReports:
    """Reports progress every so often: each report is a statement and checks for a stop."""

    progress: Progress
    total: int
    done: int = field(default=0)
    _reported: float = field(default_factory=time.monotonic)

    def add(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if self.done >= self.total or now - self._reported >= SECONDS_BETWEEN_REPORTS:
            self._reported = now
            self.progress(self.done, self.total)


def run(jobs: Sequence[IngestionJob], ports: Ports, progress: Progress) -> list[StageOutcome]:
    workspace_id = jobs[0].workspace_id
    group = _load(jobs)
    chat = ports.reader
    asked = [each for each in group if chat and len(each.chunks) > 1]
    model = chat.model_of(Role.SITUATE)[:MODEL_LENGTH] if chat else ""
    for each in asked:
        _keep_sentences(each, model)
    # All words of the others were indexed in an earlier run.
    new = [
        each
        for each in group
        if each not in asked or any(chunk.terms is None for chunk in each.chunks)
    ]
    index(workspace_id, new, progress)
    if chat is not None and asked:
        ask(chat, asked, progress)
        index(workspace_id, asked, progress)
    _sign(workspace_id, model, asked, group)
    return [StageOutcome(written=each.written, warnings=_warnings(each)) for each in group]


def _load(jobs: Sequence[IngestionJob]) -> list[VersionInProgress]:
    """The versions with their chunks, each with the context from its document."""
    versions = versions_of(jobs)
    chunks: dict[uuid.UUID, list[Chunk]] = {version.pk: [] for version in versions}
    with access.in_workspace(jobs[0].workspace_id):
        rows = Chunk.objects.in_workspace(jobs[0].workspace_id).filter(version__in=list(chunks))
        for chunk in rows.order_by("version_id", "ordinal"):
            chunks[chunk.version_id].append(chunk)
    group = []
    for version in versions:
        inside = chunks[version.pk]
        stored = [chunk.context for chunk in inside]
        for chunk in inside:
            # A chunk that is the whole document needs no other context than the title.
            is_whole = len(inside) == 1
            chunk.context = version.document.title if is_whole else _context(chunk, version)
        local = [chunk.context for chunk in inside]
        group.append(VersionInProgress(version, inside, local, stored))
    return group


def _context(chunk: Chunk, version: DocumentVersion) -> str:
    return situate(
        version.text,
        title=version.document.title,
        headings=_headings(version),
        start=chunk.start,
        end=chunk.end,
    )


def _headings(version: DocumentVersion) -> list[situating.Heading]:
    return [(level, title, start) for level, title, start in version.headings]


def _keep_sentences(each: VersionInProgress, model: str) -> None:
    """Keep the model's earlier sentences on unchanged passages."""
    if each.version.situated_by != model:
        return
    each.by_model = frozenset(
        place
        for place, (stored, local) in enumerate(zip(each.stored, each.local, strict=True))
        if local and stored.startswith(f"{local}\n")
    )
    for place in each.by_model:
        each.chunks[place].context = each.stored[place]


def _sign(
    workspace_id: uuid.UUID,
    model: str,
    asked: Sequence[VersionInProgress],
    group: Sequence[VersionInProgress],
) -> None:
    """Record which model situated each version, or that none did."""
    wrong: dict[str, list[uuid.UUID]] = {}
    for each in group:
        signature = model if each in asked else ""
        if each.version.situated_by != signature:
            wrong.setdefault(signature, []).append(each.version.pk)
    with access.in_workspace(workspace_id):
        versions = DocumentVersion.objects.in_workspace(workspace_id)
        for signature, ids in wrong.items():
            versions.filter(pk__in=ids).update(situated_by=signature)


def _warnings(each: VersionInProgress) -> tuple[str, ...]:
    if not each.unanswered:
        return ()
    return (
        f"For {each.unanswered:,} of {len(each.chunks):,}{UNSITUATED}"
        " belong in the document; their title and headings are used instead.",
    )


# --- asking the model -----------------------------------------------------------------------------
def ask(chat: ChatModel, group: Sequence[VersionInProgress], progress: Progress) -> None:
    """Append the model's sentences to the local contexts; PauseErrors propagate.

    The requests of one document follow each other and begin alike, so that its text is in the
    provider's prefix cache. Where the model says nothing usable, the headings suffice.
    """
    waiting = [(each, places) for each in group if (places := _unsituated(each))]
    reports = ProgressReports(progress, sum(len(places) for _, places in waiting))
    requests = _requests(chat, waiting)
    while batch := list(islice(requests, ASKED_AT_ONCE)):
        for index_, reply in chat.ask_many([request for _, _, request in batch]):
            each, place, _ = batch[index_]
            chunk = each.chunks[place]
            answer = "" if isinstance(reply, ReplyError) else reply.text
            sentence = situating.cleaned(answer, chunk=chunk.text)
            each.unanswered += not sentence
            chunk.context = "\n".join(part for part in (each.local[place], sentence) if part)
            reports.add(1)


def _unsituated(each: VersionInProgress) -> list[int]:
    """Return the indexes of the chunks to ask about: those the model has not situated, and that
    are more than a licence or a menu."""
    return [
        place
        for place, chunk in enumerate(each.chunks)
        if place not in each.by_model and not is_furniture(chunk.text, from_json(chunk.regions))
    ]


def _requests(
    chat: ChatModel, waiting: Sequence[tuple[VersionInProgress, Sequence[int]]]
) -> Iterator[tuple[VersionInProgress, int, ChatRequest[Any]]]:
    template, limit = load(PROMPT), chat.input_limit(Role.SITUATE)
    for each, places in waiting:
        spans = [(chunk.start, chunk.end) for chunk in each.chunks]
        shown = situating_excerpts.excerpts(
            each.version.text,
            spans,
            title=each.version.document.title,
            headings=_headings(each.version),
            limit=limit,
        )
        for place in places:
            chunk, excerpt = each.chunks[place], shown[place]
            document = fenced(excerpt.common + excerpt.near, "document")
            prompt = template.fill(
                document=document,
                chunk=fenced(situating_excerpts.passage(chunk.text), "passage"),
            )
            about = About("situate", document_id=chunk.document_id, chunk_id=chunk.pk)
            request: ChatRequest[Any] = ChatRequest(
                Role.SITUATE, prompt, about, shared=_shared(excerpt, document)
            )
            yield each, place, request


def _shared(excerpt: Excerpt, document: str) -> tuple[int, ...]:
    """Where in the prompt the parts end that other passages of the document have, too."""
    if not excerpt.near:
        return (len(document),)
    outline = fenced(excerpt.common, "document").rpartition("\n")[0]
    return len(outline), len(document)


# --- indexing words -------------------------------------------------------------------------------
def index(workspace_id: uuid.UUID, group: Sequence[VersionInProgress], progress: Progress) -> None:
    """Write contexts and postings, one transaction per batch; unchanged chunks are skipped."""
    rows = [
        (each, chunk, chunk.context != stored)
        for each in group
        for chunk, stored in zip(each.chunks, each.stored, strict=True)
        if chunk.terms is None or chunk.context != stored
    ]
    for each in group:
        each.written, each.stored = 0, [chunk.context for chunk in each.chunks]
    reports = ProgressReports(progress, len(rows))
    for first in range(0, len(rows), BATCH):
        batch = rows[first : first + BATCH]
        stale = {chunk.pk for _, chunk, is_changed in batch if is_changed}
        with access.in_workspace(workspace_id):
            postings = _index_batch(workspace_id, [chunk for _, chunk, _ in batch], stale)
        for (each, _, _), count in zip(batch, postings, strict=True):
            each.written += count
        if len(rows) > BATCH:
            reports.add(len(batch))


def _index_batch(
    workspace_id: uuid.UUID, chunks: Sequence[Chunk], stale: set[uuid.UUID]
) -> list[int]:
    """Replace contexts, lengths and postings; return the number of postings of each chunk.

    Vectors made from ``stale`` contexts are deleted.
    """
    counts = [term_counts(situated(chunk)) for chunk in chunks]
    # A chunk whose words were never indexed has neither postings nor vectors.
    indexed = [chunk.pk for chunk in chunks if chunk.terms is not None]
    if indexed:
        Posting.objects.in_workspace(workspace_id).filter(chunk_id__in=indexed).delete()
    if outdated := [pk for pk in indexed if pk in stale]:
        ChunkEmbedding.objects.in_workspace(workspace_id).filter(chunk_id__in=outdated).delete()
    for chunk, counted in zip(chunks, counts, strict=True):
        chunk.terms = counted.total()
    values = {
        "workspace": workspace_id,
        "chunks": [chunk.pk for chunk in chunks],
        "contexts": [chunk.context for chunk in chunks],
        "lengths": [chunk.terms for chunk in chunks],
    }
    present = {pk for (pk,) in run_sql(SITUATE_CHUNKS, values)}
    postings = [
        (term, chunk.pk, min(number, MOST_FREQUENT), counted.total())
        for chunk, counted in zip(chunks, counts, strict=True)
        if chunk.pk in present
        for term, number in counted.items()
    ]
    columns = {
        "terms": [term for term, _, _, _ in postings],
        "chunks": [pk for _, pk, _, _ in postings],
        "frequencies": [number for _, _, number, _ in postings],
        "lengths": [length for _, _, _, length in postings],
    }
    run_sql(ADD_POSTINGS, {"workspace": workspace_id, **columns})
    return [len(counted) for counted in counts]


def term_counts(text: str) -> Counter[str]:
    """The terms of a text that are indexed, with their frequencies."""
    return Counter(term for term in terms(text) if len(term) <= TERM_LENGTH)
