"""Keys of entities and relationships in a workspace, and the ids derived from them."""

from __future__ import annotations

import uuid
from hashlib import blake2b
from typing import Final, TypeVar

from kb_project.text.names import normalise_name

NAME_LENGTH: Final = 300
"""Characters kept of a name, and of its key."""
Ref = tuple[str, int]
"""An entity: its key and its sense, which numbers the things of that name (0 by default)."""
KeyPair = tuple[str, str]
RefPair = tuple[Ref, Ref]
EntityPair = tuple[uuid.UUID, uuid.UUID]
"""Two of a kind, the one that sorts first on the left: see ``pair_of``."""

_End = TypeVar("_End", str, uuid.UUID, Ref)


def pair_of(one: _End, other: _End) -> tuple[_End, _End]:
    return (one, other) if one <= other else (other, one)


def key_of_name(name: str) -> str:
    """What all spellings of a name share; empty if it has no letter and no digit."""
    return normalise_name(name)[:NAME_LENGTH]


def entity_id(workspace_id: uuid.UUID, key: str, sense: int = 0) -> uuid.UUID:
    """The id of an entity of this name in the workspace, whichever document names it first."""
    if sense:
        return _id(workspace_id, "sense", key, str(sense))
    return _id(workspace_id, "entity", key)


def relationship_id(
    workspace_id: uuid.UUID, source: str, target: str, senses: tuple[int, int] = (0, 0)
) -> uuid.UUID:
    numbers = [str(sense) for sense in senses] if any(senses) else []
    return _id(workspace_id, "relationship", source, target, *numbers)


def link_id(workspace_id: uuid.UUID, source: Ref, target: Ref) -> uuid.UUID:
    """The id of the relationship between two entities."""
    return relationship_id(workspace_id, source[0], target[0], (source[1], target[1]))


def claim_id(
    chunk_id: uuid.UUID, start: int, end: int, description: str, number: int = 0
) -> uuid.UUID:
    """The id of what is claimed there; ``number`` tells equal claims apart."""
    return _id(chunk_id, "claim", str(start), str(end), description, str(number))


def words_digest(text: str) -> str:
    """A digest of a text's words, however they are spaced."""
    return blake2b(" ".join(text.split()).encode(), digest_size=16).hexdigest()


def _id(workspace_id: uuid.UUID, *parts: str) -> uuid.UUID:
    digest = blake2b("\0".join(parts).encode(), digest_size=16, key=workspace_id.bytes)
    return uuid.UUID(bytes=digest.digest())
