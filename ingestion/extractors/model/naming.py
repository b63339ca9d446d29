"""Find every place where a text spells out a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingestion.extractors.model.locate import Folded, Span, folded, is_border


def occurrences(names: Iterable[str], text: Folded) -> dict[str, list[Span]]:
    """Spans in the original text of each name; the longest names first, none overlapping.

    Case and accents do not matter, except that a single capitalised word is not the common word
    spelt like it: for "May", "may" counts only if no "May" is found.
    """
    taken = bytearray(len(text.text))
    found: dict[str, list[Span]] = {}
    for name in sorted(set(names), key=lambda name: (-len(name), name)):
        places = _with_its_capitals(name, list(_places(name, text)), text)
        free = [(start, end) for start, end in places if not any(taken[start:end])]
        for start, end in free:
            taken[start:end] = b"\1" * (end - start)
        found[name] = [text.span(start, end) for start, end in free]
    return found


def occurs(name: str, text: Folded) -> bool:
    return next(_places(name, text), None) is not None


def _places(name: str, text: Folded) -> Iterator[Span]:
    """Stretches of the folded text that spell out the name as whole words."""
    wanted = folded(name).text.strip()
    place = text.text.find(wanted) if wanted else -1
    while place >= 0:
        end = place + len(wanted)
        if is_border(text.text, place) and is_border(text.text, end):
            yield place, end
        place = text.text.find(wanted, end)


def _with_its_capitals(name: str, places: list[Span], text: Folded) -> list[Span]:
    if " " in name or name == name.lower():
        return places
    is_acronym = len(name) > 1 and name.isupper()
    surfaces = ((place, text.original[slice(*text.span(*place))]) for place in places)
    same = [p for p, s in surfaces if (s == name if is_acronym else s[:1].isupper())]
    return same or places
