"""Present the search modes as a menu: groups of a few, each mode with its one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from retrieval.search.modes import MODES, Mode

# Modes of one family share a prefix: "global_dynamic" is in the group of "global".
GROUPS: Final = (
    ("", frozenset({"auto"})),
    ("Follow the names", frozenset({"walk", "local", "entities", "relations", "mix"})),
    ("See the whole", frozenset({"global", "drift", "tree", "traverse"})),
    ("Find passages", frozenset({"hybrid", "dense", "lexical"})),
)
REST: Final = "Other ways"


@dataclass(frozen=True, slots=True)
class ModeGroup:
    """A group of the menu; ``label`` is '' for modes above all groups."""

    label: str
    modes: tuple[Mode, ...]


def mode_groups() -> tuple[ModeGroup, ...]:
    """Group all registered modes, in a fixed order, leaving out empty groups."""
    known = [label for label, _ in GROUPS]
    sorted_in: dict[str, list[Mode]] = {label: [] for label in (*known, REST)}
    for mode in MODES.values():
        sorted_in[group_of(mode.name)].append(mode)
    return tuple(ModeGroup(label, tuple(modes)) for label, modes in sorted_in.items() if modes)


def group_of(name: str) -> str:
    """
    >>> group_of("global_dynamic"), group_of("walk"), group_of("telepathy")
    ('See the whole', 'Follow the names', 'Other ways')
    """
    family = name.partition("_")[0]
    return next((label for label, names in GROUPS if family in names), REST)


def label_of(name: str) -> str:
    """Return a mode's label; a mode that no longer exists keeps its name.

    >>> label_of("telepathy")
    'Telepathy'
    """
    return MODES[name].label if name in MODES else name.replace("_", " ").capitalize()
