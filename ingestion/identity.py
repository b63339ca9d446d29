"""How entities and relationships are named inside a workspace, and the ids that follow from it."""

from __future__ import annotations

import uuid
from hashlib import blake2b
from typing import Final

from kb_project.text.names import normalise_name

NAME_LENGTH: Final = 300
"""Characters kept of a name, and of its key."""
Ref = tuple[str, int]
"""An entity: its key, and which of the things of that name it is (0 unless told apart)."""


def key_of_name(name: str) -> str:
    """What all spellings of a name have in common; empty when it holds no letter and no digit."""
    return normalise_name(name)[:NAME_LENGTH]


def entity_id(workspace_id: uuid.UUID, key: str, sense: int = 0) -> uuid.UUID:
    """The id an entity of this name has in the workspace, whichever document names it first."""
    if sense:
        return _id(workspace_id, "sense", key, str(sense))
    return _id(workspace_id, "entity", key)


def relationship_id(
    workspace_id: uuid.UUID, source: str, target: str, senses: tuple[int, int] = (0, 0)
) -> uuid.UUID:
    told_apart = [str(sense) for sense in senses] if any(senses) else []
    return _id(workspace_id, "relationship", source, target, *told_apart)


def link_id(workspace_id: uuid.UUID, source: Ref, target: Ref) -> uuid.UUID:
    """The id of the relationship between two entities."""
    return relationship_id(workspace_id, source[0], target[0], (source[1], target[1]))


def _id(workspace_id: uuid.UUID, *parts: str) -> uuid.UUID:
    digest = blake2b("\0".join(parts).encode(), digest_size=16, key=workspace_id.bytes)
    return uuid.UUID(bytes=digest.digest())
