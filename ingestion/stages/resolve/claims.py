"""Stable ids for claims, and what people have corrected of them."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from ingestion.models import Claim, ClaimRuling
from ingestion.resolution.keys import claim_id, words_digest
from ingestion.stages.resolve.names import Statement

CORRECTED: Final = ("description", "type", "status", "period_start", "period_end")
Identity = tuple[str, str]


def claim_ids(statements: Iterable[Statement]) -> list[uuid.UUID]:
    """One id for each, the same whenever the passage is read: equal claims are numbered."""
    seen: Counter[tuple[Any, ...]] = Counter()
    ids = []
    for said in statements:
        place = (said.chunk_id, said.claim.start, said.claim.end, said.claim.description)
        ids.append(claim_id(*place, number=seen[place]))
        seen[place] += 1
    return ids


def identity_of(claim: Claim) -> Identity:
    """What a ruling knows a claim by, whatever people made of its words: see ``ClaimRuling``."""
    text = claim.chunk.text[claim.start - claim.chunk.start : claim.end - claim.chunk.start]
    own = claim.proposed.get("description", claim.description)
    return words_digest(text), words_digest(own)


def correct(workspace_id: uuid.UUID, documents: Collection[uuid.UUID]) -> None:
    """Apply people's decisions to the claims of these documents, just read from their passages."""
    rulings = list(
        ClaimRuling.objects.in_workspace(workspace_id)
        .filter(undone_at=None, document__in=documents)
        .order_by("sequence", "id")
    )
    if not rulings:
        return
    claims: defaultdict[tuple[uuid.UUID, str], list[tuple[str, Claim]]] = defaultdict(list)
    rows = Claim.objects.in_workspace(workspace_id).select_related("chunk")
    for claim in rows.filter(document__in={ruling.document_id for ruling in rulings}):
        quote, words = identity_of(claim)
        claims[claim.document_id, quote].append((words, claim))
    deleted: set[uuid.UUID] = set()
    edited: dict[uuid.UUID, Claim] = {}
    for ruling in rulings:
        for claim in _meant(claims[ruling.document_id, ruling.quote], ruling.words):
            if ruling.field == ClaimRuling.Field.DELETED:
                deleted.add(claim.pk)
            else:
                _override(claim, ruling.field, ruling.value)
                edited[claim.pk] = claim
    rows.filter(pk__in=deleted).delete()
    kept = [claim for pk, claim in edited.items() if pk not in deleted]
    Claim.objects.in_workspace(workspace_id).bulk_update(kept, [*CORRECTED, "proposed"])


def _meant(candidates: Sequence[tuple[str, Claim]], words: str) -> list[Claim]:
    same = [claim for own, claim in candidates if own == words]
    return same or ([candidates[0][1]] if len(candidates) == 1 else [])


def _override(claim: Claim, field: str, value: str) -> None:
    claim.proposed.setdefault(field, getattr(claim, field))
    setattr(claim, field, value)
