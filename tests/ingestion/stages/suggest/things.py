"""Entities for tests of comparing them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from ingestion.stages.suggest import blocks
from ingestion.stages.suggest.features import Candidate, Suggestion
from ingestion.stages.suggest.weighing import AdjacentNames, stated_names, weighed, with_passages
from kb_project.text.names import normalise_name

SPACE = uuid.UUID(int=1)


def thing(
    name: str,
    kind: str = "person",
    *,
    aliases: Iterable[str] = (),
    near: Iterable[Candidate] = (),
    mentions: int = 1,
) -> Candidate:
    """An entity by its name; ``near`` are its neighbours."""
    neighbours = frozenset(one.id for one in near)
    return Candidate(
        id=uuid.uuid5(SPACE, name + kind),
        key=normalise_name(name),
        name=name,
        type=kind,
        mentions=mentions,
        degree=len(neighbours),
        aliases={normalise_name(alias): alias for alias in aliases},
        neighbours=neighbours,
    )


def found_among(*things: Candidate, besides: Iterable[AdjacentNames] = ()) -> list[Suggestion]:
    """What is suggested of these, without vectors."""
    by_id = {one.id: one for one in things}
    common = blocks.common_in(things)
    pairs = blocks.candidates(things, common)
    return with_passages(weighed(pairs, by_id, common, stated_names(besides)), {})


def names_of(found: Iterable[Suggestion], *things: Candidate) -> set[frozenset[str]]:
    names = {one.id: one.name for one in things}
    return {frozenset(names[end] for end in one.pair) for one in found}
