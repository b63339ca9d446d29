"""Made-up papers for tests that need some: people, places and what they do, the same every time."""

from __future__ import annotations

import random
from pathlib import Path

FIRST = ["Ada", "Bo", "Cora", "Dag", "Elin", "Finn", "Greta", "Hal", "Ida", "Jon"]
LAST = ["Lind", "Strand", "Berg", "Holm", "Vik", "Dahl", "Moe", "Lund"]
PLACES = ["Skarrow", "Tern Rock", "Orran", "Breck Harbour", "Merrow Sound", "Hollow Bay"]
FIRMS = ["Vellacott Works", "Corrigan Marine", "Breck Glass Company", "Orran Lights Society"]
DEEDS = [
    "{a} sold forty litres of oil to {b} in {place}.",
    "{a} and {b} repaired the lens at {place} for {firm}.",
    "In 1974 {a} joined {firm}, which {b} had founded in {place}.",
    "{b} wrote to {a} that {firm} would leave {place} before the winter.",
    "The keeper of {place}, {a}, taught {b} to trim the wick.",
]


def write_papers(folder: Path, count: int, *, paragraphs: int = 12, seed: int = 7) -> list[Path]:
    """``count`` text files of several chunks each, about the same few people."""
    chance = random.Random(seed)  # the same papers every time
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number in range(count):
        path = folder / f"paper {number:02}.txt"
        path.write_text("\n\n".join(_paragraph(chance) for _ in range(paragraphs)))
        written.append(path)
    return written


def _paragraph(chance: random.Random) -> str:
    return " ".join(_sentence(chance) for _ in range(chance.randint(3, 6)))


def _sentence(chance: random.Random) -> str:
    a, b = (f"{chance.choice(FIRST)} {chance.choice(LAST)}" for _ in range(2))
    change = chance.choice(DEEDS)
    return change.format(a=a, b=b, place=chance.choice(PLACES), firm=chance.choice(FIRMS))
