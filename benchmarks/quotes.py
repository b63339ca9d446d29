"""Measure what the check of quotes costs in true facts, and what it keeps out.

    python benchmarks/quotes.py DATASET_DIR [--seed 7]

Takes articles about their titles (``documents.jsonl`` with ``title`` and ``text``): every other
name of a sentence is a fact about the title whose quote is that sentence, mostly with a pronoun.
Prints the share of these facts that would be lost, and the share that is rejected if the quote is
another sentence of the article, without the other name.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ingestion.extractors.model.locate import Span, folded
from ingestion.extractors.model.supporting import Passage

NAME: Final = re.compile(r"(?<!^)\b[A-Z][\w'’-]+(?: (?:of |the |de |von |van )?[A-Z][\w'’-]+)*")
IN_BRACKETS: Final = re.compile(r"\s*\(.*?\)")
SHORTEST: Final = 3


def facts(title: str, passage: Passage) -> Iterator[tuple[str, Span]]:
    """Yield the other names with their sentences."""
    text = passage.text.original
    for start, end in passage.sentences:
        for found in NAME.findall(text[start:end]):
            if len(found) >= SHORTEST and found.split()[0] not in title.split():
                yield found, (start, end)


def elsewhere(name: str, passage: Passage) -> list[Span]:
    """Return the sentences that have no word of the name."""
    text = passage.text.original
    return [
        (start, end)
        for start, end in passage.sentences
        if not any(word in text[start:end] for word in name.split())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    chosen = random.Random(options.seed)
    right, wrong = [], []
    for line in (options.folder / "documents.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        title, passage = IN_BRACKETS.sub("", document["title"]), Passage(folded(document["text"]))
        for name, quote in facts(title, passage):
            right.append(passage.supports(quote, title, name))
            if others := elsewhere(name, passage):
                wrong.append(passage.supports(chosen.choice(others), title, name))
    print(f"{len(right):,} true facts, {right.count(False) / len(right):.2%} lost")
    print(f"{len(wrong):,} wrong quotes, {wrong.count(False) / len(wrong):.1%} rejected")


if __name__ == "__main__":
    main()
