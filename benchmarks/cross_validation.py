"""Check whether constants tuned on some questions do as well on others.

    python benchmarks/cross_validation.py MODE DATASET_DIR … --keep SLUG,… --measure M --k K,…

Measures every setting of a mode's tuned constants on every question. Then, for each of five folds
of the questions (fixed seed), measures on the fold the setting that does best on the other four.
Prints for each data set: the current constants, the best setting on all questions (in-sample, what
tuning promises), and the held-out figure (what it keeps). Workspaces are kept under the slugs, as
with ``manage.py evaluate --keep``.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final

import django

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_project.settings")
os.environ.setdefault("LOG_LEVEL", "WARNING")
django.setup()

from retrieval.evaluation import dataset, metrics, runner
from retrieval.evaluation.dataset import filled_workspace
from retrieval.search import auto, hybrid, lexical, services, walk

FOLDS: Final = 5
SEED: Final = 17

Constant = tuple[ModuleType, str]
Setting = tuple[float, ...]
Scores = list[dict[int, float]]
"""The measure of each question at each k."""

TUNED: Final[Mapping[str, Mapping[Constant, Sequence[float]]]] = {
    "walk": {
        (walk, "WALK_ON"): (0.5, 0.6, 0.7, 0.8, 0.9),
        (walk, "MEANING"): (1.0, 2.0, 4.0),
        (walk, "WORDS"): (0.0, 1.0, 2.0),
    },
    "hybrid": {
        (lexical, "LENGTH"): (0.4, 0.5, 0.75),
        (lexical, "BESIDE"): (0.0, 0.1, 0.2, 0.3),
        (hybrid, "RANK_OFFSET"): (20, 60),
    },
    "auto": {
        (auto, "COMMONPLACE"): (0.1, 0.3, 1.0),
        (auto, "CRAFT"): (1, 2, 99),
        (auto, "SHORT"): (0.0, 2.0, 100.0),
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Tuned constants on questions held out.")
    parser.add_argument("mode", choices=list(TUNED))
    parser.add_argument("datasets", type=Path, nargs="+", help="folders to choose on together")
    parser.add_argument("--keep", required=True, help="a slug for each folder, with commas")
    parser.add_argument("--measure", default="recall", choices=list(metrics.MEASURES))
    parser.add_argument("--k", default="5,8,20")
    options = parser.parse_args()
    ks = tuple(int(k) for k in options.k.split(","))
    constants = TUNED[options.mode]
    settings = list(itertools.product(*constants.values()))
    names = ", ".join(f"{name}" for _, name in constants)
    print(f"{options.mode}: {len(settings)} settings of {names}, {FOLDS} folds")
    sets: dict[str, dict[Setting, Scores]] = {}
    for folder, slug in zip(options.datasets, options.keep.split(","), strict=True):
        asked = Asked(folder, slug, options.mode, options.measure, ks)
        sets[folder.resolve().name] = asked.measured(tuple(constants), settings)
    report(sets, standing(tuple(constants)), ks)


class Asked:
    """The questions of a data set in its kept workspace."""

    def __init__(
        self, folder: Path, slug: str, mode: str, measure: str, ks: tuple[int, ...]
    ) -> None:
        self.source = dataset.load(folder)
        self.slug, self.mode, self.ks = slug, mode, ks
        self.measure = metrics.MEASURES[measure]

    def measured(
        self, constants: tuple[Constant, ...], settings: Sequence[Setting]
    ) -> dict[Setting, Scores]:
        found: dict[Setting, Scores] = {setting: [] for setting in settings}
        with filled_workspace(self.source, keep=self.slug) as filled:
            places = runner.ordinals_of(filled)
            for question in self.source.questions:
                vector = services.question_vector(filled.workspace, question.question)
                for setting, scores in found.items():
                    with using(constants, setting):
                        hits = services.search(
                            workspace=filled.workspace,
                            question=question.question,
                            mode=self.mode,
                            top_k=max(self.ks),
                            vector=vector,
                        ).hits
                    covered = runner.cover(question, hits, filled.indices, places)
                    total = len(question.evidence)
                    scores.append({k: self.measure(covered, total, k) for k in self.ks})
        return found


@contextmanager
def using(constants: tuple[Constant, ...], setting: Setting) -> Iterator[None]:
    before = standing(constants)
    _assign(constants, setting)
    try:
        yield
    finally:
        _assign(constants, before)


def _assign(constants: tuple[Constant, ...], setting: Setting) -> None:
    for (module, name), value in zip(constants, setting, strict=True):
        setattr(module, name, value)


def standing(constants: tuple[Constant, ...]) -> Setting:
    return tuple(getattr(module, name) for module, name in constants)


def folds(count: int) -> list[list[int]]:
    """Return shuffled question indices, dealt into folds."""
    numbers = list(range(count))
    random.Random(SEED).shuffle(numbers)
    return [numbers[first::FOLDS] for first in range(FOLDS)]


def report(
    sets: Mapping[str, Mapping[Setting, Scores]], stands: Setting, ks: tuple[int, ...]
) -> None:
    dealt = {name: folds(len(next(iter(scores.values())))) for name, scores in sets.items()}
    everything = {name: [one for fold in dealt[name] for one in fold] for name in sets}
    best = choose(sets, everything, stands)
    chosen = []
    held: dict[str, list[dict[int, float]]] = {name: [] for name in sets}
    for number in range(FOLDS):
        others = {
            name: [one for other, fold in enumerate(dealt[name]) if other != number for one in fold]
            for name in sets
        }
        setting = choose(sets, others, stands)
        chosen.append(setting)
        for name, scores in sets.items():
            held[name] += [scores[setting][one] for one in dealt[name][number]]
    print(f"stands {stands}, best {best}, chosen by fold {chosen}")
    for name, scores in sets.items():
        for k in ks:
            figures = (scores[stands], scores[best], held[name])
            shown = (f"{metrics.mean([one[k] for one in rows]):.3f}" for rows in figures)
            stood, best_figure, held_out = shown
            print(f"{name}@{k}: stands {stood}, in-sample {best_figure}, held out {held_out}")


def choose(
    sets: Mapping[str, Mapping[Setting, Scores]],
    numbers: Mapping[str, Sequence[int]],
    stands: Setting,
) -> Setting:
    """Return the setting with the best mean over all k and data sets; ties go to the current
    setting, then the first."""

    def worth(setting: Setting) -> tuple[float, bool]:
        means = [
            metrics.mean(
                [metrics.mean(list(scores[setting][one].values())) for one in numbers[name]]
            )
            for name, scores in sets.items()
        ]
        return round(metrics.mean(means), 6), setting == stands

    return max(next(iter(sets.values())), key=worth)


if __name__ == "__main__":
    main()
