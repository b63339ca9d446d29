"""The parts of a tree: leaves, nodes, and the sentences they can be quoted by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import UUID, uuid5

from kb_project.llm.ports import Vectors
from kb_project.text.quotable import quotable
from kb_project.text.regions import Region
from kb_project.text.sentences import sentence_spans
from kb_project.text.statements import StatementKind

EXTRACTIVE: Final = "extractive"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence on one line.

    With a ``chunk``, the offsets are those of the quote in the document's text; a model's sentence
    has no place.
    """

    text: str
    chunk: UUID | None = None
    start: int = 0
    end: int = 0
    is_entry: bool = False
    """A list entry: quoted only if there is no sentence."""


@dataclass(frozen=True, slots=True)
class Item:
    """A leaf or a node that the next layer summarises.

    ``start`` is a chunk's offset, and ``regions`` its parts that are not prose.
    """

    id: UUID
    is_chunk: bool
    text: str
    tokens: int
    vector: Vectors
    start: int = 0
    sources: tuple[Sentence, ...] = ()
    regions: tuple[Region, ...] = ()

    def sentences(self) -> list[Sentence]:
        """Sentences to quote it by: a chunk's prose, a summary's sources, else its own."""
        if self.sources:
            return list(self.sources)
        if not self.is_chunk:
            spans = sentence_spans(self.text)
            return [Sentence(" ".join(self.text[start:end].split())) for start, end in spans]
        return [
            Sentence(
                text=one.said,
                chunk=self.id,
                start=self.start + one.start,
                end=self.start + one.end,
                is_entry=one.kind is StatementKind.ENTRY,
            )
            for one in quotable(self.text, self.regions)
        ]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a cluster has in common, and its sources; ``failed``: the model could not write it."""

    text: str
    tokens: int
    written_by: str
    sources: tuple[Sentence, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A node before it is written: its ``children`` with their probability."""

    id: UUID
    digest: str
    layer: int
    document_id: UUID | None
    children: tuple[tuple[Item, float], ...]

    @property
    def items(self) -> list[Item]:
        return [item for item, _ in self.children]


@dataclass(frozen=True, slots=True)
class Node:
    """A written node; ``is_kept`` means that its row already exists."""

    draft: Draft
    summary: Summary
    vector: Vectors
    is_kept: bool

    def as_item(self) -> Item:
        summary = self.summary
        return Item(
            id=self.draft.id,
            is_chunk=False,
            text=summary.text,
            tokens=summary.tokens,
            vector=self.vector,
            sources=summary.sources,
        )


def digest_of(children: Iterable[UUID], fingerprint: str, writer: str) -> str:
    """Identify a node by its content: the same children, vectors and writer give the same node."""
    parts = [*sorted(str(child) for child in children), fingerprint, writer]
    return sha256("\n".join(parts).encode()).hexdigest()


def node_id(owner: UUID, digest: str) -> UUID:
    """Derive a node's id from its digest, so that it survives a re-index.

    ``owner`` is the document, or the workspace for the tree over all documents.
    """
    return uuid5(owner, digest)
