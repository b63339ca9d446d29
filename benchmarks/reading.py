"""Check that every document is read to the end: parsed, chunked, searched for names and facts.

    python benchmarks/reading.py FOLDER [--more N] [--seed S]

Reads every document of every data set below the folder: lines of ``documents.jsonl``, files under
``documents/`` and ``corpora/``, and the sections that the questions of ``selqa`` are about. Then
makes N more documents from their sentences, with titles drawn from their words: with articles,
hyphens, one word, capitals, other scripts. An unreadable document is refused with a reason (a
``KBError``); any other exception is a fault, and is printed. Needs no database.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import django
import regex

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from ingestion.extractors import extract_many
from ingestion.models import Document, DocumentVersion
from ingestion.parsers import Limits, parse
from ingestion.stages.chunk.cutting import cut_up
from ingestion.stages.parse import fill
from ingestion.vectors.sentences import situated
from kb_project.errors import KBError
from kb_project.text.regions import from_json
from kb_project.text.sentences import sentence_spans
from kb_project.text.statements import statements

_WORD: Final = regex.compile(r"[\p{L}\p{M}\p{N}’'-]+")
_OTHER_SCRIPT: Final = regex.compile(r"[\p{L}--[\p{Latin}]]+", regex.VERSION1)
_LONGEST_WORD: Final = 4
"""The most characters of a word in a script that puts no spaces between words."""
MOST_SENTENCES: Final = 12


@dataclass(frozen=True, slots=True)
class Paper:
    """A document to read; ``title`` is empty if the file itself should provide it."""

    name: str
    content: bytes
    title: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Is every document read to the end.")
    parser.add_argument("folder", type=Path, help="a folder of data sets")
    parser.add_argument("--more", type=int, default=2000, help="documents made of their sentences")
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    given = list(papers_of(options.folder.resolve()))
    tally = Tally()
    texts = [text for paper in given if (text := tally.read(paper))]
    print(f"documents of the sets: {tally.told()}", flush=True)
    made = Tally()
    for paper in papers_made(texts, options.more, random.Random(options.seed)):
        made.read(paper)
    print(f"made of their sentences: {made.told()}")
    for fault in (*tally.faults, *made.faults):
        print(f"\n{fault}")
    sys.exit(bool(tally.faults or made.faults))


# --- reading --------------------------------------------------------------------------------------
class Tally:
    """Counts of documents read, refused and failed."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.faults: list[str] = []
        self._started = time.monotonic()

    def read(self, paper: Paper) -> str:
        """Return the document's text, or "" if it could not be read."""
        try:
            version = parsed(paper)
            look_through(version, self.count)
        except KBError as error:
            self.refused[error.code] += 1
            return ""
        except Exception:  # noqa: BLE001 - exactly what this script looks for
            self.faults.append(f"{paper.name}: {paper.title!r}\n{traceback.format_exc()}")
            return ""
        self.count["read"] += 1
        return version.text

    def told(self) -> str:
        refused = "".join(f", {n} refused ({code})" for code, n in sorted(self.refused.items()))
        found = ", ".join(f"{self.count[one]:,} {one}" for one in ("chunks", "statements", "names"))
        seconds = time.monotonic() - self._started
        faults = f"{len(self.faults)} unexpected failures"
        return f"{self.count['read']:,} read ({found}){refused}, {faults}, {seconds:.0f} s"


def parsed(paper: Paper) -> DocumentVersion:
    """Parse a document as the parsing stage does, without the sandbox."""
    document = Document(name=paper.name, title=paper.title or paper.name)
    version = DocumentVersion(document=document, name=paper.name)
    with tempfile.NamedTemporaryFile() as file:
        file.write(paper.content)
        file.flush()
        fill(version, parse(Path(file.name), name=paper.name, limits=Limits()), "")
    return version


def look_through(version: DocumentVersion, count: Counter[str]) -> None:
    chunks = cut_up(version)
    regions = [from_json(chunk.regions) for chunk in chunks]
    title = version.document.title
    found = extract_many(
        [chunk.text for chunk in chunks], regions=regions, language=version.language, title=title
    )
    for chunk, inside, extraction in zip(chunks, regions, found, strict=True):
        stated = statements(chunk.text, inside)
        count["statements"] += len([situated(title, chunk.heading_path, one) for one in stated])
        count["names"] += len(extraction.shifted(chunk.start).as_json()["mentions"])
    count["chunks"] += len(chunks)


# --- documents of the sets ------------------------------------------------------------------------
def papers_of(folder: Path) -> Iterator[Paper]:
    for path in sorted(folder.rglob("documents.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            one = json.loads(line)
            yield Paper(f"{path.parent.name}-{number}.txt", one["text"].encode(), one["title"])
    for path in sorted([*folder.glob("*/documents/*"), *folder.glob("corpora/*")]):
        yield Paper(path.name, path.read_bytes())
    yield from sections_of(folder / "selqa")


def sections_of(folder: Path) -> Iterator[Paper]:
    """Yield each section once, as the candidate sentences of its first question."""
    sections: dict[tuple[str, str], str] = {}
    for path in sorted(folder.glob("*.json")):
        for one in json.loads(path.read_text(encoding="utf-8")):
            place = (one["article"], one["section"])
            sections.setdefault(place, " ".join(one["candidates"]))
    for number, ((article, _), text) in enumerate(sections.items()):
        yield Paper(f"selqa-{number}.txt", text.encode(), article)


# --- documents made of their sentences ------------------------------------------------------------
def papers_made(texts: Sequence[str], count: int, chance: random.Random) -> Iterator[Paper]:
    sentences = [text[start:end] for text in texts for start, end in sentence_spans(text)]
    others = sorted({word for text in texts for word in _OTHER_SCRIPT.findall(text)})
    for number in range(count):
        said = chance.choices(sentences, k=chance.randint(1, MOST_SENTENCES))
        title = title_of(_WORD.findall(" ".join(said)) or ["A"], others or ["A"], chance)
        if chance.random() < 1 / 2:
            said.insert(chance.randint(0, len(said)), f"{title} is one of them.")
        gap = chance.choice([" ", "\n", "\n\n"])
        yield Paper(f"made-{number}.txt", gap.join(said).encode(), title)


def title_of(words: Sequence[str], others: Sequence[str], chance: random.Random) -> str:
    """Make a title from the words of a text, so that the text often contains it."""
    article = chance.choice(["A", "An", "The", "a", "the", "THE"])
    first = chance.randrange(len(words))
    run = " ".join(words[first : first + chance.randint(1, 4)])
    other = chance.choice(others)[:_LONGEST_WORD]
    made = chance.choice(
        [
            run,
            chance.choice(words),
            f"{article} {run}",
            f"{article} {chance.choice(words)}",
            run.replace(" ", "-"),
            f"{article} {run}-{chance.choice(words)}",
            other,
            f"{other} {run}",
            f"{article} {other}",
            f"{run} ({chance.choice(words)})",
        ]
    )
    cases: list[Callable[[str], str]] = [str, str, str.title, str.upper, str.lower, str.swapcase]
    return chance.choice(cases)(made)


if __name__ == "__main__":
    main()
