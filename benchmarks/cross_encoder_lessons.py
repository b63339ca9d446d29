"""Gather what ``train_cross_encoder.py`` learns from: questions with the statements to tell apart.

    python benchmarks/cross_encoder_lessons.py SET [SET ...] --out lessons.npz

A set is a folder with ``documents/`` and ``questions.jsonl``, one object a line: ``kind``
(``answerable``, ``lookalike`` or ``elsewhere``), ``question``, ``document`` and ``answers``, quotes
of the statements that answer it. Documents are read, cut and embedded in memory, without a
database, and each question gets its best statements by words and vectors, as the product ranks
them, and those that answer it. What is written are tokens alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")

import django

django.setup()

import numpy as np

from ingestion import parsers
from ingestion.parsers.archive import Limits
from ingestion.stages.chunk import cutting
from ingestion.vectors import sentences as embedded
from kb_project.llm.cross_encoder import E5CrossEncoder
from kb_project.llm.e5 import E5
from kb_project.llm.embedders import LocalEmbedder
from kb_project.llm.ports import Vectors
from kb_project.llm.tokens import token_starts
from kb_project.text.words import terms
from retrieval.answering import features, ranking
from retrieval.answering.features import Candidate, Rarity
from retrieval.search import query_features, sentences
from retrieval.search.results import Hit
from retrieval.search.sentences import Cosines

KINDS: Final = ("answerable", "lookalike", "elsewhere")
PASSAGES: Final = 20
STATEMENTS: Final = 22
RIGHT: Final = 4
"""Statements that answer, at most, which are not among the best."""
_MARKS: Final = str.maketrans("*_`|", "    ")


@dataclass(frozen=True)
class Corpus:
    """A set's passages, and the vectors of their statements."""

    passages: Sequence[Hit]
    vectors: Mapping[tuple[uuid.UUID, int, int], Vectors]
    rarity: Rarity


def read(folder: Path, embedder: LocalEmbedder) -> Corpus:
    passages = [hit for path in sorted(folder.iterdir()) for hit in passages_of(path)]
    found = [one for hit in passages for one in features.candidates([hit])]
    texts = [
        embedded.situated(one.hit.title, one.path, one.statement, _before(one)) for one in found
    ]
    vectors = embedder.embed_passages(texts)
    counts = Counter(term for hit in passages for term in set(terms(hit.text)))
    keys = [one.vector_key for one in found]
    return Corpus(passages, dict(zip(keys, vectors, strict=True)), Rarity(counts, len(passages)))


def _before(one: Candidate) -> str:
    return one.before if embedded.leans_on_the_one_before(one.statement) else ""


def passages_of(path: Path) -> Iterator[Hit]:
    parsed = parsers.parse(path, name=path.name, limits=Limits())
    document = uuid.uuid5(uuid.NAMESPACE_URL, path.name)
    headings = [(one.level, one.title, one.start) for one in parsed.headings]
    pages = [(one.number, one.start, one.end) for one in parsed.pages]
    starts = token_starts(parsed.text)
    spans = cutting._cut(parsed.text, {}, starts, [start for _, _, start in headings])
    places = cutting.locations_of(spans, pages=pages, headings=headings)
    regions = cutting.regions_of(spans, regions=parsed.regions)
    for (start, end), place, inside in zip(spans, places, regions, strict=True):
        yield Hit(
            chunk_id=cutting.chunk_id(document, start, end),
            document_id=document,
            title=parsed.title or path.stem,
            heading_path=place.heading_path,
            page=place.page_first,
            start=start,
            end=end,
            score=0.0,
            text=parsed.text[start:end],
            why=(),
            regions=tuple(inside),
        )


def gathered(corpus: Corpus, question: str, embedder: LocalEmbedder) -> ranking.Gathered:
    vector = embedder.embed_question(question)
    cosines = {key: float(vector @ one) for key, one in corpus.vectors.items()}
    best = tuple(sorted(cosines, key=lambda key: -cosines[key])[: sentences.MOST])
    nearest: dict[uuid.UUID, float] = {}
    for key, cosine in cosines.items():
        nearest[key[0]] = max(cosine, nearest.get(key[0], 0.0))
    asked = corpus.rarity.weighed(set(terms(question)))
    worth = {
        hit.chunk_id: features.SCALE * nearest.get(hit.chunk_id, 0.0)
        + 3 * asked.share(set(terms(hit.text)))
        for hit in corpus.passages
    }
    ranked = sorted(corpus.passages, key=lambda hit: -worth[hit.chunk_id])
    near = {key[0] for key in best[: ranking.NEAREST_SENTENCES]}
    hits = [*ranked[:PASSAGES], *(hit for hit in ranked[PASSAGES:] if hit.chunk_id in near)]
    return ranking.of_candidates(
        query_features.read(question),
        hits,
        features.candidates(hits),
        Cosines(cosines, best),
        corpus.rarity,
    )


def lesson(made: ranking.Gathered, answers: Sequence[str]) -> tuple[list[Candidate], list[bool]]:
    """The best statements and some others that answer, and which of them do."""
    weights = ranking.weights_for(made)["statement"]
    order = np.argsort(-(made.matrix @ ranking.column(weights)), kind="stable")
    quotes = [_plain(one) for one in answers]
    right = [any(quote in _plain(one.said) for quote in quotes) for one in made.statements]
    best = [int(index) for index in order[:STATEMENTS]]
    others = [int(index) for index in order[STATEMENTS:] if right[index]][:RIGHT]
    chosen = [*best, *others]
    return [made.statements[index] for index in chosen], [right[index] for index in chosen]


def _plain(text: str) -> str:
    return " ".join(text.translate(_MARKS).casefold().split())


def main() -> None:
    parser = argparse.ArgumentParser(description="Gather what the cross-encoder learns from.")
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    options = parser.parse_args()
    embedder = LocalEmbedder()
    encoder = E5CrossEncoder(E5())
    tokens: list[int] = []
    lengths: list[tuple[int, int, int]] = []
    right: list[bool] = []
    counts: list[int] = []
    kinds: list[int] = []
    for folder in options.sets:
        corpus = read(folder / "documents", embedder)
        for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
            one: dict[str, Any] = json.loads(line)
            if one["kind"] not in KINDS:
                continue
            made = gathered(corpus, one["question"], embedder)
            chosen, answering = lesson(made, one["answers"])
            for text in encoder.texts(one["question"], [ranking.told(each) for each in chosen]):
                tokens += [token for part in text.parts for token in part]
                lengths.append((len(text.asked), len(text.around), len(text.said)))
            right += answering
            counts.append(len(chosen))
            kinds.append(KINDS.index(one["kind"]))
        print(f"{folder.name}: {len(corpus.passages)} passages, {len(counts)} questions so far")
    np.savez(options.out, tokens=tokens, lengths=lengths, right=right, counts=counts, kinds=kinds)


if __name__ == "__main__":
    main()
