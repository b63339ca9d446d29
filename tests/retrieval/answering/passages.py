"""Passages found, and how their statements are ranked, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

from kb_project.text.regions import Region
from retrieval.answering import ranking
from retrieval.answering.candidates import candidates
from retrieval.answering.extractive import Choice
from retrieval.answering.features import Rarity
from retrieval.answering.ranking import Gathered, Ranked, Ranking
from retrieval.search import query_features
from retrieval.search.results import Hit
from retrieval.search.sentences import Cosines


def hit(
    text: str,
    *,
    title: str = "Keepers",
    start: int = 0,
    headings: tuple[str, ...] = (),
    document: UUID | None = None,
    regions: tuple[Region, ...] = (),
) -> Hit:
    return Hit(
        chunk_id=uuid4(),
        document_id=document or uuid4(),
        title=title,
        heading_path=headings,
        page=None,
        start=start,
        end=start + len(text),
        score=1.0,
        text=text,
        why=(),
        regions=regions,
    )


def gathered(question: str, *hits: Hit) -> Gathered:
    """All statements are equally near, and every word that is held as rare as the others."""
    found = candidates(hits)
    wanted = query_features.read(question)
    held = " ".join(hit.text for hit in hits).lower()
    frequencies = {term: 1 for term in wanted.terms if term in held}
    rarity = Rarity(frequencies, max(4, len(hits)))
    near = {one.vector_key: 0.8 for one in found}
    return ranking.of_candidates(wanted, hits, found, Cosines(near, tuple(near)), rarity)


def ranking_of(made: Gathered, *, shares: Sequence[float], probability: float) -> Ranking:
    ranked = [Ranked(one, share, share) for one, share in zip(made.statements, shares, strict=True)]
    return Ranking(sorted(ranked, key=lambda one: -one.share), probability)


def said(choice: Choice) -> list[str]:
    return [one.candidate.said for one in choice.chosen]
