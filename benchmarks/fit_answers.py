"""Fit the weights that choose an answer's sentences: ``retrieval/answering/weights.json``.

    python benchmarks/fit_answers.py --answers DIR --messy DIR --selqa DIR [--write]

The first two folders are laid out as ``benchmarks/answers.py`` reads them; SelQA's has
``dev.json``. Documents go into workspaces that are kept (``fit-answers``, ``fit-messy``), and what
was gathered for the questions is cached (``--again`` asks again). A conditional logit ranks
statements; a logistic regression predicts whether a question is answered. Both are cross-validated
with whole articles held out, and the printed figures come from that. ``--write`` fits on everything
and writes the file.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import answers as sets
from ingestion.vectors import sentences as sentence_vectors
from kb_project.ports import build_ports
from kb_project.text.statements import Statement, StatementKind
from kb_project.text.words import terms
from retrieval.answering import features, ranking
from retrieval.answering.candidates import Candidate
from retrieval.answering.flow import PASSAGES
from retrieval.answering.ranking import Numbers
from retrieval.search import query_features, sentences, services
from retrieval.search.modes import DEFAULT_MODE
from retrieval.search.results import Hit
from retrieval.search.sentences import Cosines
from workspaces import access
from workspaces.models import Workspace

KEPT: Final = ROOT / "benchmarks" / "results" / "fit-answers.pickle"
FITTED: Final = tuple(name for name in features.NAMES if name != "names")
"""Measured: with ``names``, fewer answers from held-out articles rank first."""
L2: Final = 3.0
SIGNS: Final = ("nearest", "unknown", "entropy", "gap", "names")
"""Measured: these five predict as well as thirty."""
BY_WORDS: Final = SIGNS[1:]
ANSWERED_BY_KIND: Final = {"answerable": True, "elsewhere": False, "lookalike": False}
KIND_WEIGHTS: Final = {"lookalike": 0.1}
"""The article answers some of these elsewhere, and no sign here distinguishes them."""


@dataclass
class Asked:
    """A question with its candidates; ``right`` marks those that hold an answer."""

    set: str
    lang: str
    article: str
    kind: str
    question: str
    matrix: Numbers
    right: NDArray[np.bool_]
    said: list[str]
    heading: list[str]
    before: list[str]
    about: dict[str, float]
    more: dict[str, Any] = field(default_factory=dict)


def scorer(folder: Path) -> Any:
    """Load the data set's own ``score.py``."""
    space: dict[str, Any] = {"__name__": "score"}
    exec((folder / "score.py").read_text(encoding="utf-8"), space)  # noqa: S102  the data set's own
    return space


def asked_of(folder: Path, slug: str, score: Mapping[str, Any]) -> Iterator[Asked]:
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    with sets.filled(folder, questions, slug) as workspace:
        for one in questions:
            gathered = gathered_for(workspace, one["question"])
            said = [statement.said for statement in gathered.statements]
            right = [score["holds"](each, one["answers"], one["lang"]) for each in said]
            yield Asked(
                set=folder.name,
                lang=one["lang"],
                article=one["document"] or one["id"],
                kind=one["kind"],
                question=one["question"],
                matrix=gathered.matrix,
                right=np.array(right, bool),
                said=said,
                heading=[" ".join(each.path[-1:]) for each in gathered.statements],
                before=[each.before for each in gathered.statements],
                about=ranking.of_question(gathered),
                more=one,
            )


def gathered_for(workspace: Workspace, question: str) -> ranking.Gathered:
    found = services.search(
        workspace=workspace, question=question, mode=DEFAULT_MODE, top_k=PASSAGES
    )
    vector = sentences.vector_of(found.query, question)
    vector.make()
    with access.in_workspace(workspace.pk):
        return ranking.gather(found.query, found.hits, vector)


def asked_of_selqa(folder: Path) -> Iterator[Asked]:
    for one, gathered in gathered_of_selqa(folder / "dev.json"):
        right = {one["candidates"][index] for index in one["answers"]}
        said = [statement.said for statement in gathered.statements]
        yield Asked(
            set="selqa",
            lang="en",
            article=one["article"],
            kind="answerable",
            question=one["question"],
            matrix=gathered.matrix,
            right=np.array([each in right for each in said], bool),
            said=said,
            heading=[one["article"]] * len(said),
            before=[statement.before for statement in gathered.statements],
            about=ranking.of_question(gathered),
        )


def gathered_of_selqa(file: Path) -> Iterator[tuple[dict[str, Any], ranking.Gathered]]:
    """Yield each of SelQA's questions with its section's sentences."""
    questions = json.loads(file.read_text(encoding="utf-8"))
    texts = sorted({text for one in questions for text in embedded(one)})
    embedder = build_ports().embedder
    vectors = dict(zip(texts, embedder.embed_passages(texts), strict=True))
    held = [frozenset(terms(text)) for text in texts]
    counts: dict[str, int] = {}
    for each in held:
        for term in each:
            counts[term] = counts.get(term, 0) + 1
    rarity = features.Rarity(counts, len(texts))
    for one in questions:
        asked = embedder.embed_question(one["question"])
        yield one, _gathered_of_selqa(one, asked, vectors, rarity)


def embedded(one: Mapping[str, Any]) -> list[str]:
    said = [Statement(0, 0, StatementKind.SENTENCE, each) for each in one["candidates"]]
    pairs = zip(said, ["", *one["candidates"]], strict=False)
    return [
        sentence_vectors.situated(
            one["article"],
            (one["section"],),
            each,
            before if sentence_vectors.leans_on_the_one_before(each) else "",
        )
        for each, before in pairs
    ]


def _gathered_of_selqa(
    one: Mapping[str, Any], asked: Any, vectors: Mapping[str, Any], rarity: features.Rarity
) -> ranking.Gathered:
    hit = Hit(uuid4(), uuid4(), one["article"], (one["section"],), None, 0, 0, 0.0, "", ())
    found, cosines, start = [], {}, 0
    for place, (said, text) in enumerate(zip(one["candidates"], embedded(one), strict=True)):
        statement = Statement(start, start + len(said), StatementKind.SENTENCE, said)
        start += len(said) + 1
        before = one["candidates"][place - 1] if place else ""
        candidate = Candidate(hit, 0, statement, (one["section"],), before, place=place)
        found.append(candidate)
        cosines[candidate.vector_key] = float(asked @ vectors[text])
    ranked: Sequence[tuple[UUID, int, int]] = sorted(cosines, key=lambda key: -cosines[key])
    near = Cosines(cosines, tuple(ranked[: sentences.MOST]))
    return ranking.of_candidates(query_features.read(one["question"]), [hit], found, near, rarity)


# --- fitting -------------------------------------------------------------------------------------


def fit_statements(
    asked: Sequence[Asked], prior: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Fit the weights that make the right candidates most probable (conditional logit)."""
    columns = [features.NAMES.index(name) for name in FITTED]
    mean = np.array([(prior or {}).get(name, 0.0) for name in FITTED])
    used = [(one.matrix[:, columns], one.right) for one in asked]
    return dict(zip(FITTED, fit_logit(used, mean).round(4).tolist(), strict=True))


def fit_logit(asked: Sequence[tuple[Numbers, NDArray[np.bool_]]], mean: Numbers) -> Numbers:
    """Fit a weight for each matrix column, regularised towards ``mean``.

    ``asked`` has, for each question, the matrix of its candidates and which of them are right.
    """
    used = [(matrix, right) for matrix, right in asked if right.any() and not right.all()]

    def loss(values: Numbers) -> tuple[float, Numbers]:
        total, slope = L2 * float(((values - mean) ** 2).sum()) / 2, L2 * (values - mean)
        for matrix, right in used:
            shares = ranking.softmax(matrix @ values)
            mass = float(shares[right].sum())
            total -= np.log(max(mass, 1e-12))
            held = np.where(right, shares, 0.0) / max(mass, 1e-12)
            slope -= (held - shares) @ matrix
        return total, slope

    weights: Numbers = minimize(loss, mean, jac=True, method="L-BFGS-B").x
    return weights


def scores_of(one: Asked, weights: Mapping[str, float]) -> Numbers:
    return one.matrix @ ranking.column(weights)


def signs_of(
    one: Asked, weights: Mapping[str, float], *, has_vectors: bool = True
) -> dict[str, float]:
    if not len(one.matrix):
        return {**dict.fromkeys(SIGNS, 0.0), **one.about}
    matrix = one.matrix
    if not has_vectors:
        matrix = matrix.copy()
        matrix[:, features.NAMES.index("meaning")] = features.NO_VECTOR
    return ranking.evidence(matrix, matrix @ ranking.column(weights), one.about)


def fit_answered(
    rows: Sequence[Mapping[str, float]],
    answered: Sequence[bool],
    weights: Sequence[float],
    names: Sequence[str] = SIGNS,
    c: float = 1.0,
) -> dict[str, float]:
    matrix = np.array([[row[name] for name in names] for row in rows])
    middle, spread = matrix.mean(0), matrix.std(0) + 1e-9
    model = LogisticRegression(C=c, max_iter=5_000)
    model.fit((matrix - middle) / spread, np.array(answered), sample_weight=np.array(weights))
    slopes = model.coef_[0] / spread
    fitted = dict(zip(names, slopes.round(4).tolist(), strict=True))
    return fitted | {"constant": round(float(model.intercept_[0] - slopes @ middle), 4)}


def folds(asked: Sequence[Asked], most: int = 20) -> Iterator[tuple[list[Asked], list[Asked]]]:
    """Yield training and held-out questions, split by whole article; SelQA is always training."""
    articles = sorted({(one.set, one.article) for one in asked if one.set != "selqa"})
    for number in range(min(most, len(articles))):
        out = set(articles[number::most])
        yield (
            [one for one in asked if (one.set, one.article) not in out],
            [one for one in asked if (one.set, one.article) in out],
        )


def collected(options: argparse.Namespace) -> list[Asked]:
    if KEPT.exists() and not options.again:
        kept: list[Asked] = pickle.loads(KEPT.read_bytes())  # noqa: S301  our own file
        return kept
    score = scorer(options.answers)
    asked = [
        *asked_of(options.answers, f"{options.keep}{options.answers.name}", score),
        *asked_of(options.messy, f"{options.keep}{options.messy.name}", score),
        *asked_of_selqa(options.selqa),
    ]
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_bytes(pickle.dumps(asked))
    return asked


@dataclass
class Told:
    """A held-out question: its candidates in ranked order, and its probabilities."""

    asked: Asked
    right: list[bool]
    signs: dict[str, float]
    probability: float = 0.0
    by_words: float = 0.0


def fitted(
    asked: Sequence[Asked], prior: Mapping[str, float] | None = None
) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Fit the statement weights, and the answerability weights with and without vectors."""
    answerable = [one for one in asked if one.kind == "answerable"]
    statement = fit_statements(answerable, prior)
    told = [one for one in asked if one.set != "selqa" and one.kind in ANSWERED_BY_KIND]
    rows = [signs_of(one, statement) for one in told]
    without = [signs_of(one, statement, has_vectors=False) for one in told]
    answered = [ANSWERED_BY_KIND[one.kind] for one in told]
    weights = [KIND_WEIGHTS.get(one.kind, 1.0) for one in told]
    return (
        statement,
        fit_answered(rows, answered, weights),
        fit_answered(without, answered, weights, BY_WORDS),
    )


def cross_validated(
    asked: Sequence[Asked], prior: Mapping[str, float] | None = None
) -> Iterator[Told]:
    for training, out in folds(asked):
        statement, answered, by_words = fitted(training, prior)
        for one in out:
            signs = signs_of(one, statement)
            order = np.argsort(-scores_of(one, statement), kind="stable")
            yield Told(
                asked=one,
                right=one.right[order].tolist(),
                signs=signs,
                probability=ranking.probability(signs, answered),
                by_words=ranking.probability(signs_of(one, statement, has_vectors=False), by_words),
            )


def report(name: str, told: Sequence[Told]) -> None:
    answerable = [one for one in told if one.asked.kind == "answerable"]
    figures = {
        f"right@{count}": np.mean([any(one.right[:count]) for one in answerable])
        for count in (1, 2, 3, 5)
    }
    line = " ".join(f"{key}={value:.3f}" for key, value in figures.items())
    print(f"{name}: {len(answerable)} answerable, {line}")
    for label in ("probability", "by_words"):
        if not any(getattr(one, label) for one in told):
            continue
        for refused in (0.02, 0.03, 0.04, 0.06, 0.1):
            limit = np.quantile([getattr(one, label) for one in answerable], refused)
            shares = {
                kind: np.mean(
                    [getattr(one, label) < limit for one in told if one.asked.kind == kind]
                )
                for kind in ("elsewhere", "lookalike")
                if any(one.asked.kind == kind for one in told)
            }
            line = " ".join(f"{key}={value:.3f}" for key, value in shares.items())
            print(f"  {label}: refused={refused:.2f} below {limit:.3f}: {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit what chooses an answer's sentences.")
    for name in ("answers", "messy", "selqa"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="DIR")
    parser.add_argument("--keep", default="fit-", help="what the workspaces' slugs begin with")
    parser.add_argument("--again", action="store_true", help="ask the questions again")
    parser.add_argument("--write", action="store_true", help="write the weights")
    options = parser.parse_args()
    asked = collected(options)
    english = [one for one in asked if one.lang == "en"]
    chinese = [one for one in asked if one.lang == "zh"]
    told = list(cross_validated(english))
    for name in ("answers", "messy"):
        report(name, [one for one in told if one.asked.set == name])
    prior = fitted(english)
    report("chinese", list(cross_validated(chinese, prior[0])))
    if options.write:
        write(english, chinese, prior)


def write(english: Sequence[Asked], chinese: Sequence[Asked], any_: Any) -> None:
    names = ("statement", "answered", "answered_by_words")
    kept = json.loads(ranking.FILE.read_text(encoding="utf-8"))
    # ``fit_cross_encoder.py`` fits these, with the other weights as they were.
    reading = {
        lang: {name: kept[lang][name] for name in ("read", "answered_read")}
        for lang in ("any", "zh")
    }
    made = {
        "made": "by benchmarks/fit_answers.py, on SQuAD 2.0, CMRC 2018, SelQA and real documents",
        "sentences_by": build_ports().embedder.fingerprint,
        "questions": {"any": len(english), "zh": len(chinese)},
        "any": dict(zip(names, any_, strict=True)) | reading["any"],
        "zh": dict(zip(names, fitted(chinese, any_[0]), strict=True)) | reading["zh"],
    }
    ranking.FILE.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
