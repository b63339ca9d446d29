"""What a model reports as contradictions among numbered statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from pydantic import BaseModel, Field

from kb_project.text.words import one_line

MOST_CONFLICTS: Final = 12
"""Contradictions kept of one reply."""
MOST_STATEMENTS: Final = 6
"""Statements kept of one contradiction."""
LONGEST_REASON: Final = 500

ShownT = TypeVar("ShownT")


# Without a docstring: it would stand in the JSON schema that models are shown.
class Conflict(BaseModel):
    reason: str = ""
    statements: list[int] = Field(default_factory=list)


def reported(
    conflicts: Sequence[Conflict], shown: Sequence[ShownT]
) -> Iterator[tuple[str, list[ShownT]]]:
    """Yield the reason of each contradiction that has one, and the statements it names.

    Statements are numbered from 1 in the order in which they were shown; other numbers are left
    out, repeated ones count once.
    """
    for conflict in conflicts[:MOST_CONFLICTS]:
        if reason := one_line(conflict.reason)[:LONGEST_REASON]:
            numbers = dict.fromkeys(conflict.statements)
            yield reason, [shown[one - 1] for one in numbers if 0 < one <= len(shown)]
