"""What speaks against two entities being one."""

from __future__ import annotations

from ingestion.stages.suggest.things import UNTYPED, Reason, Thing
from ingestion.stages.suggest.words import JUNIORS, OPPOSED

NEVER = float("-inf")
ONE_IS_COUNTED = -3.0
OTHER_TYPE = -1.0
GROUP_AND_OTHER = -4.0
SENTENCE = -1.2
# A nationality or a language is not the country.
PEOPLES = frozenset({"group", "language"})


def counted(one: Thing, other: Thing) -> Reason | None:
    """Henry VII is not Henry VIII, nor is 2024 2025; Henry may be either."""
    left, right = one.counting, other.counting
    if left == right:
        return None
    if (left and right) or any(set(side) - JUNIORS for side in (left, right) if _has_digit(side)):
        return Reason("counted", NEVER)
    return Reason("counted", ONE_IS_COUNTED)


def _has_digit(words: tuple[str, ...]) -> bool:
    return any(letter.isdigit() for word in words for letter in word)


def opposed(one: Thing, other: Thing) -> Reason | None:
    """The northern one is not the southern one."""
    left, right = set(one.words), set(other.words)
    rows = {OPPOSED[word] for word in left - right if word in OPPOSED}
    if any(OPPOSED.get(word) in rows for word in right - left):
        return Reason("opposed", NEVER)
    return None


def typed(one: Thing, other: Thing) -> Reason | None:
    """Types that do not go together; a small model errs often, so it is no proof."""
    if one.type == other.type or one.type in UNTYPED or other.type in UNTYPED:
        return None
    if one.type in PEOPLES or other.type in PEOPLES:
        return Reason("types", GROUP_AND_OTHER)
    return Reason("types", OTHER_TYPE, f"one is read as {one.type}, the other as {other.type}")


def together(one: Thing, other: Thing) -> Reason | None:
    """A sentence that names both seldom means one thing by two names."""
    if other.id in one.neighbours or one.id in other.neighbours:
        return Reason("together", SENTENCE, "though some sentence names both")
    return None
