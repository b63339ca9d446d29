"""Gather what ``train_cross_encoder.py`` learns from: questions with the statements to tell apart.

    python benchmarks/cross_encoder_lessons.py --selqa DIR --out lessons.npz [--part PART ...]

``lessons.tar.xz`` has the sets, written for this; its ``README.md`` describes them. A set is a
folder with ``documents/`` and ``questions.jsonl``, one object a line: ``kind`` (``answerable``,
``lookalike`` or ``elsewhere``), ``question``, ``document`` and ``answers``, quotes of the
statements that answer it. Of manuals the archive has the questions alone: their pages are taken
from Debian's packages (``apt-get download``). Documents are read, cut and embedded in memory,
without a database, and each question gets its best statements by words and vectors, as the product
ranks them, and those that answer it. What is written are tokens alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")

import django

django.setup()

import numpy as np
import regex
from numpy.typing import NDArray

from benchmarks import fit_answers
from ingestion import parsers
from ingestion.parsers.archive import Limits
from ingestion.stages.chunk import cutting
from ingestion.vectors import sentences as embedded
from kb_project.llm.cross_encoder import E5CrossEncoder
from kb_project.llm.e5 import E5
from kb_project.llm.embedders import LocalEmbedder
from kb_project.llm.ports import Vectors
from kb_project.llm.tokens import token_starts
from kb_project.text.statements import StatementKind
from kb_project.text.words import terms
from retrieval.answering import features, ranking
from retrieval.answering.candidates import Candidate, candidates
from retrieval.answering.features import Rarity
from retrieval.search import query_features, sentences
from retrieval.search.results import Hit
from retrieval.search.sentences import Cosines

ARCHIVE: Final = ROOT / "benchmarks" / "lessons.tar.xz"
PARTS: Final = ("teams", "texts", "chinese", "manuals")
"""What is learnt from; ``held-out`` is not among them."""
KINDS: Final = ("answerable", "lookalike", "elsewhere")
PASSAGES: Final = 20
STATEMENTS: Final = 22
RIGHT: Final = 4
"""Statements that answer, at most, which are not among the best."""
FEWEST_WORDS: Final = 3
_MARKS: Final = str.maketrans("*_`|", "    ")
_WORD: Final = regex.compile(r"\w+")


# --- the sets -------------------------------------------------------------------------------------


@contextmanager
def unpacked() -> Iterator[Path]:
    """Yield a temporary folder with a folder for each part, which has one for each set."""
    with tempfile.TemporaryDirectory() as folder, tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
        yield Path(folder)


def fetch_manuals(folder: Path) -> None:
    """Put the pages that each set's ``sources.tsv`` lists (name, package, path) into its
    ``documents``. Raises CalledProcessError if a package cannot be had."""
    for listed in sorted(folder.glob("*/sources.tsv")):
        pages = listed.parent / "documents"
        pages.mkdir()
        for line in listed.read_text(encoding="utf-8").splitlines():
            name, package, path = line.split("\t")
            content = (_package(folder, package) / path).read_bytes()
            is_packed = path.endswith(".gz") and not name.endswith(".gz")
            (pages / name).write_bytes(gzip.decompress(content) if is_packed else content)


def _package(folder: Path, name: str) -> Path:
    """Download and unpack a package, once."""
    unpacked = folder / ".packages" / name
    if not unpacked.exists():
        unpacked.mkdir(parents=True)
        command = ["apt-get", "download", name]
        subprocess.run(command, cwd=unpacked.parent, check=True, stdout=subprocess.DEVNULL)
        [file] = unpacked.parent.glob(f"{name}_*.deb")
        command = ["dpkg-deb", "-x", str(file), str(unpacked)]
        subprocess.run(command, check=True)
        file.unlink()
    return unpacked


def questions_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [{"answers": []} | one for one in map(json.loads, lines) if one["kind"] in KINDS]


# --- gathering ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Corpus:
    """A set's passages, and the vectors of their statements."""

    passages: Sequence[Hit]
    vectors: Mapping[tuple[uuid.UUID, int, int], Vectors]
    rarity: Rarity


def read(files: Sequence[Path], embedder: LocalEmbedder, *, by_name: bool = False) -> Corpus:
    """Read the files; ``by_name`` titles each by its file's name, whatever it says itself."""
    passages = [hit for path in sorted(files) for hit in _passages_of(path, by_name=by_name)]
    found = [one for hit in passages for one in candidates([hit])]
    texts = [
        embedded.situated(one.hit.title, one.path, one.statement, _before(one)) for one in found
    ]
    vectors = embedder.embed_passages(texts)
    counts = Counter(term for hit in passages for term in set(terms(hit.text)))
    keys = [one.vector_key for one in found]
    return Corpus(passages, dict(zip(keys, vectors, strict=True)), Rarity(counts, len(passages)))


def _before(one: Candidate) -> str:
    return one.before if embedded.leans_on_the_one_before(one.statement) else ""


def _passages_of(path: Path, *, by_name: bool) -> Iterator[Hit]:
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
            title=path.stem if by_name else parsed.title or path.stem,
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
        candidates(hits),
        Cosines(cosines, best),
        corpus.rarity,
    )


def right_among(statements: Sequence[Candidate], answers: Sequence[str]) -> list[bool]:
    """Which statements have one of the quotes; of rows, the quote's words in order: a row names its
    columns in between."""
    quotes = [_plain(one) for one in answers]
    words = [_WORD.findall(one) for one in quotes]
    return [
        any(quote in _plain(one.said) for quote in quotes)
        or (one.kind is StatementKind.ROW and any(_has_in_order(one.said, each) for each in words))
        for one in statements
    ]


def _has_in_order(row: str, words: Sequence[str]) -> bool:
    left = iter(_WORD.findall(_plain(row)))
    return len(words) >= FEWEST_WORDS and all(word in left for word in words)


def _plain(text: str) -> str:
    return " ".join(text.translate(_MARKS).casefold().split())


# --- lessons --------------------------------------------------------------------------------------


class Lessons:
    """What is written: all texts' tokens in a row, the lengths of each text's three parts, which
    texts answer, and how many of them each question has."""

    def __init__(self, encoder: E5CrossEncoder) -> None:
        self._encoder = encoder
        self._tokens: list[NDArray[np.int32]] = []
        self._lengths: list[tuple[int, int, int]] = []
        self._right: list[bool] = []
        self._counts: list[int] = []
        self._kinds: list[int] = []

    def add(self, kind: str, made: ranking.Gathered, answers: Sequence[str]) -> None:
        """Add a question with its best statements and some others that answer, without lines whose
        list answers and not they."""
        scores, _ = ranking.before_reading(made)
        order = np.argsort(-scores, kind="stable").tolist()
        right = right_among(made.statements, answers)
        others = [index for index in order[STATEMENTS:] if right[index]][:RIGHT]
        chosen = [*order[:STATEMENTS], *others]
        told = ranking.texts_to_read([made.statements[one] for one in chosen], made.candidates)
        kept = [
            (right[index], text)
            for index, text in zip(chosen, told, strict=True)
            if right[index] or not any(_plain(one) in _plain(text.said) for one in answers)
        ]
        for text in self._encoder.texts(made.sought.text, [text for _, text in kept]):
            self._tokens += [np.array(part, np.int32) for part in text.parts]
            self._lengths.append((len(text.asked), len(text.around), len(text.said)))
        self._right += [answering for answering, _ in kept]
        self._counts.append(len(kept))
        self._kinds.append(KINDS.index(kind))

    def write(self, path: Path) -> None:
        np.savez(
            path,
            tokens=np.concatenate(self._tokens),
            lengths=self._lengths,
            right=self._right,
            counts=self._counts,
            kinds=self._kinds,
        )


def add_selqa(folder: Path, lessons: Lessons) -> None:
    """Encyclopaedia articles: a section's sentences, and which of them answer."""
    for file in ("dev.json", "test.json"):
        for one, made in fit_answers.gathered_of_selqa(folder / file):
            lessons.add("answerable", made, [one["candidates"][index] for index in one["answers"]])


def main() -> None:
    parser = argparse.ArgumentParser(description="Gather what the cross-encoder learns from.")
    parser.add_argument("--selqa", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--part", action="append", choices=PARTS, help="these alone")
    options = parser.parse_args()
    embedder = LocalEmbedder()
    lessons = Lessons(E5CrossEncoder(E5()))
    add_selqa(options.selqa, lessons)
    with unpacked() as folder:
        parts = options.part or PARTS
        if "manuals" in parts:
            fetch_manuals(folder / "manuals")
        for path in [one for part in parts for one in sorted((folder / part).glob("[!.]*"))]:
            corpus = read([*(path / "documents").iterdir()], embedder)
            for one in questions_of(path):
                made = gathered(corpus, one["question"], embedder)
                lessons.add(one["kind"], made, one["answers"])
            print(f"{path.parent.name}/{path.name}: {len(corpus.passages)} passages", flush=True)
    lessons.write(options.out)


if __name__ == "__main__":
    main()
