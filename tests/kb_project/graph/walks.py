"""Walk indexes from rows that read as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from kb_project.graph import walk_index
from kb_project.graph.compact import packed
from kb_project.graph.walk_index import Aliases, ChunkRow, Entities, Mentions, WalkIndex


class EntityRow(NamedTuple):
    entity_id: UUID
    key: str
    is_generic: bool = False
    is_common: bool = False


class AliasRow(NamedTuple):
    key: str
    entity_id: UUID


class MentionRow(NamedTuple):
    chunk_id: UUID
    entity_id: UUID
    times: int


def build(
    chunks: Sequence[ChunkRow],
    entities: Sequence[EntityRow],
    mentions: Sequence[MentionRow] = (),
    aliases: Iterable[AliasRow] = (),
) -> WalkIndex:
    known = Entities(
        packed(one.entity_id for one in entities),
        [one.key for one in entities],
        [one.is_generic for one in entities],
        [one.is_common for one in entities],
    )
    mentioned = Mentions(
        packed(one.chunk_id for one in mentions),
        packed(one.entity_id for one in mentions),
        [one.times for one in mentions],
    )
    rows = list(aliases)
    others = Aliases([one.key for one in rows], packed(one.entity_id for one in rows))
    return walk_index.build(chunks, known, mentioned, others)
