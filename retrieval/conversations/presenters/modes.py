"""Present the search modes as a menu: groups of a few, each mode with its one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from retrieval.search.modes import GROUPS, MODES, Mode


@dataclass(frozen=True, slots=True)
class ModeGroup:
    """A group of the menu; ``label`` is '' for modes above all groups."""

    label: str
    modes: tuple[Mode, ...]


def mode_groups() -> tuple[ModeGroup, ...]:
    """Group all modes in the order of the menu, leaving out empty groups."""
    groups: dict[str, list[Mode]] = {label: [] for label in GROUPS}
    for mode in MODES.values():
        groups.setdefault(mode.group, []).append(mode)
    return tuple(ModeGroup(label, tuple(modes)) for label, modes in groups.items() if modes)


def label_of(name: str) -> str:
    """Return a mode's label; a mode that no longer exists keeps its name.

    >>> label_of("telepathy")
    'Telepathy'
    """
    return MODES[name].label if name in MODES else name.replace("_", " ").capitalize()
