"""What the stages that make topics and those that describe them have to agree on."""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid5

OTHER_TOPICS: Final = "Other topics"


def other_topics_id(workspace_id: UUID) -> UUID:
    """The root community that gathers what is too small for a topic: always the same id."""
    return uuid5(workspace_id, "other topics")
