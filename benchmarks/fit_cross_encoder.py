"""Fit how much the cross-encoder's scores count: ``read`` and ``answered_read`` in
``retrieval/answering/weights.json``.

    python benchmarks/fit_cross_encoder.py --answers DIR --messy DIR [--write]

Fitted are questions that it has not learnt from: those of ``lessons.tar.xz``'s ``held-out``, and of
the two folders, laid out as ``benchmarks/answers.py`` reads them. They are gathered in memory, as
the lessons are. The weights of the statements' other features stay: their sum is one feature here,
its logit of being answered another. Printed is each set with the weights fitted to the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import answers, cross_encoder_lessons as lessons, fit_answers
from kb_project.ports import build_ports
from kb_project.text.languages import HAN
from retrieval.answering import ranking
from retrieval.answering.ranking import Numbers

LANGUAGES: Final = ("any", "zh")
PRIOR: Final = np.array([1.0, 0.0])
KIND_WEIGHTS: Final = fit_answers.KIND_WEIGHTS | {"elsewhere": 2.0}
"""A wrong answer is worse than none."""


@dataclass(frozen=True)
class Asked:
    """A question: its statements' scores by words and vectors and by the cross-encoder, in two
    columns, which of them answer, and the logit of being answered before it was read."""

    set: str
    lang: str
    kind: str
    scores: Numbers
    right: NDArray[np.bool_]
    before: float

    def signs(self, weights: Numbers) -> dict[str, float]:
        return ranking.signs_of_reading(self.before, self.scores @ weights, self.scores[:, 1])


def asked_of(
    name: str, corpus: lessons.Corpus, questions: Sequence[dict[str, Any]]
) -> Iterator[Asked]:
    ports = build_ports()
    for one in questions:
        made = lessons.gathered(corpus, one["question"], ports.embedder)
        if not made.statements:
            continue
        scores, before = ranking.before_reading(made)
        yield Asked(
            set=name,
            lang=language_of(one["question"]),
            kind=one["kind"],
            scores=np.stack([scores, ranking.read(made, ports.cross_encoder)], 1),
            right=np.array(lessons.right_among(made.statements, one["answers"]), bool),
            before=before,
        )


def language_of(text: str) -> str:
    return "zh" if HAN.search(text) else "any"


def collected(options: argparse.Namespace) -> Iterator[Asked]:
    embedder = build_ports().embedder
    with lessons.unpacked() as folder:
        for path in sorted((folder / "held-out").iterdir()):
            corpus = lessons.read([*(path / "documents").iterdir()], embedder)
            yield from asked_of(path.name, corpus, lessons.questions_of(path))
    messy = lessons.questions_of(options.messy)
    corpus = lessons.read(answers.files_of(options.messy, messy), embedder)
    yield from asked_of("messy", corpus, messy)
    questions = lessons.questions_of(options.answers)
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, list[Path]] = {lang: [] for lang in LANGUAGES}
        for one in answers.texts_of(options.answers):
            text = one.content.read()
            path = Path(folder) / f"{one.title.replace('/', ' ')}.txt"
            path.write_bytes(text)
            files[language_of(text.decode()[:200])].append(path)
        for lang in LANGUAGES:
            corpus = lessons.read(files[lang], embedder, by_name=True)
            own = [one for one in questions if (one["lang"] == "zh") == (lang == "zh")]
            yield from asked_of(f"answers ({lang})", corpus, own)


def scores_fitted(asked: Sequence[Asked]) -> Numbers:
    """The mean of the weights that fit each set: no set decides by its size."""
    sets = {one.set for one in asked}
    fits = [
        fit_answers.fit_logit([(one.scores, one.right) for one in asked if one.set == name], PRIOR)
        for name in sorted(sets)
    ]
    return np.mean(fits, axis=0)


def answered_fitted(asked: Sequence[Asked], weights: Mapping[str, Numbers]) -> dict[str, float]:
    """Both logits count alike. Measured: fitted apart, they keep more right answers back."""
    signs = [one.signs(weights[one.lang]) for one in asked]
    fitted = fit_answers.fit_answered(
        [{"both": sum(one.values())} for one in signs],
        [one.kind == "answerable" for one in asked],
        [KIND_WEIGHTS.get(one.kind, 1.0) for one in asked],
        ["both"],
    )
    both = fitted["both"]
    return {"before": both, "read_best": both, "constant": fitted["constant"]}


def fitted(asked: Sequence[Asked]) -> tuple[dict[str, Numbers], dict[str, float]]:
    weights = {
        lang: scores_fitted([one for one in asked if one.lang == lang]) for lang in LANGUAGES
    }
    return weights, answered_fitted(asked, weights)


def report(name: str, asked: Sequence[Asked], weights: Numbers, by: Mapping[str, float]) -> None:
    line = f"{name}:"
    answerable = [one for one in asked if one.kind == "answerable"]
    for column in (PRIOR, weights):
        orders = [np.argsort(-(one.scores @ column), kind="stable") for one in answerable]
        right = [one.right[order] for one, order in zip(answerable, orders, strict=True)]
        first, two = (np.mean([one[:most].any() for one in right]) for most in (1, 2))
        line += f" first {first:.3f}, two {two:.3f};"
    told = {
        kind: np.array(
            [ranking.probability(one.signs(weights), by) for one in asked if one.kind == kind]
        )
        for kind in lessons.KINDS
    }
    for kind, found in told.items():
        if len(found):
            line += f" {kind} below .5 {np.mean(found < 0.5):.3f}"
        if kind != "answerable" and len(found):
            both = np.concatenate([told["answerable"], found])
            labels = [1] * len(told["answerable"]) + [0] * len(found)
            line += f" (area {roc_auc_score(labels, both):.3f})"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit how much the cross-encoder's scores count.")
    for name in ("answers", "messy"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="DIR")
    parser.add_argument("--write", action="store_true", help="write the weights")
    options = parser.parse_args()
    asked = list(collected(options))
    for name in sorted({one.set for one in asked}):
        own = [one for one in asked if one.set == name]
        scores, answered = fitted([one for one in asked if one.set != name])
        report(name, own, scores[own[0].lang], answered)
    scores, answered = fitted(asked)
    weights = json.loads(ranking.FILE.read_text(encoding="utf-8"))
    for lang in LANGUAGES:
        read = dict(zip(("scores", "read"), scores[lang].round(4).tolist(), strict=True))
        weights[lang] |= {"read": read, "answered_read": answered}
        print(lang, read, answered)
    if options.write:
        ranking.FILE.write_text(json.dumps(weights, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
