"""Evidence of a workspace's questions: what it refers to, and which passages cover it.

Stored as in ``SetQuestion.evidence``: ``{"document": id or title, "chunk": number from 0 or null,
"quote": text or ""}``. A quote is still found after a document is chunked differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from ingestion.models import Document
from kb_project.errors import InputError
from kb_project.llm.structured import storable
from retrieval.evaluation import metrics
from retrieval.evaluation.dataset import readable
from workspaces import access
from workspaces.models import Workspace

MOST_PIECES: Final = 20
LONGEST_NAME: Final = 500
LONGEST_QUOTE: Final = 2_000
MOST_CHUNKS: Final = 1_000_000
_BETWEEN: Final = " | "


class Names:
    """Looks up documents by id or, failing that, by title."""

    def __init__(self, documents: Iterable[tuple[UUID, str]]) -> None:
        self.titles: dict[UUID, str] = dict(documents)
        self._titled: dict[str, set[UUID]] = {}
        for pk, title in self.titles.items():
            self._titled.setdefault(_on_one_line(title), set()).add(pk)

    def find(self, name: str) -> frozenset[UUID]:
        identity = _as_id(name)
        if identity in self.titles:
            return frozenset({identity})
        return frozenset(self._titled.get(_on_one_line(name), ()))

    def shown(self, name: str) -> str:
        """Return the document's title if no other document has it, else the stored name."""
        identity = _as_id(name)
        title = self.titles.get(identity, name) if identity else name
        return title if len(self.find(title)) == 1 else name


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that was found, as needed to compare it with evidence."""

    document_id: UUID
    ordinal: int
    text: str


@dataclass(frozen=True, slots=True)
class EvidencePiece:
    """A piece of evidence. Without ``documents``, its document no longer exists."""

    documents: frozenset[UUID]
    chunk: int | None = None
    quote: str = ""

    def is_in(self, passage: FoundPassage) -> bool:
        if passage.document_id not in self.documents:
            return False
        if self.quote and _on_one_line(self.quote) in _on_one_line(passage.text):
            return True
        return passage.ordinal == self.chunk if self.chunk is not None else not self.quote


def names_in(workspace: Workspace) -> Names:
    with access.in_workspace(workspace.pk):
        return Names(Document.objects.in_workspace(workspace).values_list("pk", "title"))


def places_of(evidence: Sequence[Mapping[str, Any]], names: Names) -> tuple[EvidencePiece, ...]:
    """Resolve stored evidence to the current documents."""
    return tuple(
        EvidencePiece(
            names.find(str(one["document"])), one.get("chunk"), str(one.get("quote") or "")
        )
        for one in evidence
    )


def cover(pieces: Sequence[EvidencePiece], found: Sequence[FoundPassage]) -> list[frozenset[int]]:
    """Return for each passage which pieces of evidence it is the first to cover."""
    return metrics.cover(pieces, found, EvidencePiece.is_in)


def checked(pieces: object, names: Names) -> list[dict[str, Any]]:
    """Validate evidence from a file or API client; return it in the stored form.

    A piece is a title or id, or ``{"doc", "chunk"?, "quote"?}``. Raises InputError.
    """
    if not isinstance(pieces, list) or not pieces:
        raise InputError("there is no evidence")
    if len(pieces) > MOST_PIECES:
        raise InputError(f"there are more than {MOST_PIECES} pieces of evidence")
    return [_checked(piece, names) for piece in pieces]


def written(evidence: Sequence[Mapping[str, Any]], names: Names) -> list[Any]:
    """Convert stored evidence to the file form, naming documents by title if that is
    unambiguous."""
    return [_written(one, names.shown(str(one["document"]))) for one in evidence]


def lines_of(evidence: Sequence[Mapping[str, Any]], names: Names) -> str:
    """Format stored evidence for people to edit, one piece per line.

    >>> lines_of([{"document": "Tides", "chunk": 2, "quote": "At noon."}], Names([]))
    'Tides | 2 | At noon.'
    """
    return "\n".join(
        _BETWEEN.join(
            part
            for part in (
                names.shown(str(one["document"])),
                "" if one.get("chunk") is None else str(one["chunk"]),
                _on_one_line(str(one.get("quote") or "")),
            )
            if part
        )
        for one in evidence
    )


def of_lines(text: str, names: Names) -> list[dict[str, Any]]:
    """Parse evidence as people write it: a title or id on each line, optionally followed by a
    passage number and a quote. Raises InputError."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return checked([_piece_of(line, names) for line in lines], names)


def _piece_of(line: str, names: Names) -> dict[str, Any]:
    """Parse a line. A title may contain the separator: the longest known name wins."""
    parts = line.split(_BETWEEN)
    for length in range(len(parts), 0, -1):
        name = _BETWEEN.join(parts[:length]).strip()
        if names.find(name):
            return {"doc": name, **_behind(parts[length:])}
    return {"doc": parts[0]}


def _behind(parts: Sequence[str]) -> dict[str, Any]:
    """
    >>> _behind(["3", "At noon."]), _behind(["At noon."])
    ({'chunk': 3, 'quote': 'At noon.'}, {'quote': 'At noon.'})
    """
    if parts and parts[0].strip().isdecimal():
        return {"chunk": int(parts[0][:12]), **_behind(parts[1:])}
    quote = _BETWEEN.join(parts).strip()
    return {"quote": quote} if quote else {}


def _checked(piece: object, names: Names) -> dict[str, Any]:
    given: Mapping[str, Any] = piece if isinstance(piece, dict) else {"doc": piece}
    name = storable(readable(str(given.get("doc", given.get("document", ""))))).strip()
    chunk, quote = given.get("chunk"), given.get("quote") or ""
    found = names.find(name) if len(name) <= LONGEST_NAME else frozenset()
    if not found:
        raise InputError("its evidence names no document in this workspace")
    if isinstance(chunk, bool) or not (chunk is None or isinstance(chunk, int)):
        raise InputError("its evidence has a passage number that is not a number")
    if chunk is not None and not 0 <= chunk <= MOST_CHUNKS:
        raise InputError("its evidence has an impossible passage number")
    if not isinstance(quote, str) or len(quote) > LONGEST_QUOTE:
        raise InputError(f"a quote is not text, or has more than {LONGEST_QUOTE:,} characters")
    only = str(next(iter(found))) if len(found) == 1 else name
    return {"document": only, "chunk": chunk, "quote": storable(readable(quote)).strip()}


def _written(piece: Mapping[str, Any], name: str) -> Any:
    more = {key: piece[key] for key in ("chunk", "quote") if piece.get(key) not in (None, "")}
    return {"doc": name, **more} if more else name


def _as_id(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
