"""Train the cross-encoder: ``kb_project/llm/cross_encoder.npz``.

    python benchmarks/train_cross_encoder.py lessons.npz [--epochs 1] [--start FILE] [--write FILE]

Needs PyTorch besides (``requirements-reader.txt``). ``cross_encoder_lessons.py`` gathers the
lessons. Of each question one or two statements that answer it and some that do not are read
together; the loss is the probability of the right ones among them (a softmax), and each one's own
(a sigmoid), so that a question that nothing answers teaches, too. The last eight layers of the
built-in model learn, in bfloat16, which processors with AMX multiply many times as fast as 32-bit
floats; the first four and the vocabulary stay as they are. A step takes one to two seconds on two
cores. ``--start`` goes on from a file that earlier training wrote.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kb_project.llm.bert import BLOCK, Bytes, Floats, dequantized, floats
from kb_project.llm.e5 import E5

FILE: Final = ROOT / "kb_project" / "llm" / "cross_encoder.npz"
KEPT_LAYERS: Final = 4
AT_ONCE: Final = 4
"""Questions of a step."""
RIGHT: Final = 2
"""Statements read of a question: those that answer …"""
BEST: Final = 4
AMONG: Final = 12
"""… wrong ones among the best …"""
OTHERS: Final = 1
"""… and further ones."""
RATE: Final = 1e-4
HEAD_RATE: Final = 5e-4
WARM: Final = 80
ROWS: Final = 14
"""Texts and tokens of a batch are multiples of few numbers, so that few kernels are compiled."""
TOKENS: Final = 16
SCALES: Final = np.linspace(6.4, 9.2, 15)
"""Quotients of a block's largest weight that are tried as its scale."""
_UNSEEN: Final = -1e4
_MATRICES: Final = ("q", "k", "v", "ao", "fi", "fo")


@dataclass(frozen=True)
class Lesson:
    """A question's texts in three parts each, and which of them answer it."""

    texts: Sequence[Sequence[Sequence[int]]]
    right: Sequence[bool]

    def drawn(self, chance: random.Random) -> tuple[list[int], int]:
        """Some right texts, then some wrong ones; and how many are right."""
        right = [index for index, one in enumerate(self.right) if one]
        wrong = [index for index, one in enumerate(self.right) if not one]
        right = chance.sample(right, min(RIGHT, len(right)))
        best = chance.sample(wrong[:AMONG], min(BEST, len(wrong[:AMONG])))
        others = chance.sample(wrong[AMONG:], min(OTHERS, len(wrong[AMONG:])))
        return [*right, *best, *others], len(right)


def lessons(path: Path) -> list[Lesson]:
    """Read the lessons, without those that tell nothing apart."""
    file = np.load(path)
    pieces = np.split(file["tokens"], np.cumsum(file["lengths"].ravel())[:-1])
    parts = iter([piece.tolist() for piece in pieces])
    answering = iter(file["right"].tolist())
    found = []
    for count, kind in zip(file["counts"].tolist(), file["kinds"].tolist(), strict=True):
        texts = [[next(parts) for _ in range(3)] for _ in range(count)]
        one = Lesson(texts, [next(answering) for _ in range(count)])
        if all(one.right) or (kind == 0 and not any(one.right)):
            continue
        found.append(one)
    return found


class Layer(nn.Module):
    """A layer of BERT."""

    def __init__(self, model: E5, name: str) -> None:
        super().__init__()
        hidden, wide = model.sizes.hidden, model.sizes.wide
        self.heads = model.sizes.heads
        for part in _MATRICES:
            made, given = (wide if part == "fi" else hidden), (wide if part == "fo" else hidden)
            linear = nn.Linear(given, made)
            _put(linear.weight, dequantized(model.weights[f"{name}.{part}.w"].reshape(made, -1)))
            _put(linear.bias, floats(model.weights[f"{name}.{part}.b"]))
            self.add_module(part, linear)
        for part in ("aln", "oln"):
            self.add_module(part, _normal(model, f"{name}.{part}"))

    def forward(self, state: torch.Tensor, unseen: torch.Tensor) -> torch.Tensor:
        texts, tokens, hidden = state.shape
        own = self._modules
        shape = (texts, tokens, self.heads, hidden // self.heads)
        asks, holds, says = (own[part](state).view(shape).transpose(1, 2) for part in "qkv")
        weights = asks / math.sqrt(shape[-1]) @ holds.transpose(-1, -2) + unseen
        seen = (weights.softmax(-1) @ says).transpose(1, 2).reshape(texts, tokens, hidden)
        state = own["aln"](state + own["ao"](seen))
        inner = own["fo"](functional.gelu(own["fi"](state)))
        made: torch.Tensor = own["oln"](state + inner)
        return made


class Reader(nn.Module):
    """The built-in model with a head; see ``E5CrossEncoder``."""

    def __init__(self, model: E5) -> None:
        super().__init__()
        hidden = model.sizes.hidden
        self.model = model
        self.normal = _normal(model, "emb.ln")
        self.layers = nn.ModuleList(
            Layer(model, f"l{number}") for number in range(model.sizes.layers)
        )
        self.parts = nn.Parameter(torch.zeros(3, hidden))
        self.head, self.out = nn.Linear(3 * hidden, hidden), nn.Linear(hidden, 1)
        for kept in (self.normal, *self.layers[:KEPT_LAYERS]):
            kept.requires_grad_(requires_grad=False)

    def forward(self, texts: Sequence[Sequence[Sequence[int]]]) -> torch.Tensor:
        given, parts = self._padded(texts)
        is_there = parts >= 0
        unseen = torch.where(is_there, 0.0, _UNSEEN)[:, None, None].bfloat16()
        state = self.normal((given + is_there[..., None] * self.parts[parts]).bfloat16())
        for layer in self.layers:
            state = layer(state, unseen)
        state = state.float()

        def mean(part: int) -> torch.Tensor:
            own = (parts == part).float()
            return (state * own[..., None]).sum(1) / own.sum(1, keepdim=True)

        pooled = torch.cat([state[:, 0], mean(0), mean(2)], 1)
        inner = functional.dropout(torch.tanh(self.head(pooled)), 0.1, self.training)
        made: torch.Tensor = self.out(inner)
        return made[:, 0]

    def _padded(
        self, texts: Sequence[Sequence[Sequence[int]]]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        longest = max(sum(map(len, one)) for one in texts)
        size = (len(texts), -(-longest // TOKENS) * TOKENS)
        given = torch.zeros(*size, self.model.sizes.hidden)
        parts = torch.full(size, -1)
        for row, one in enumerate(texts):
            whole = [token for part in one for token in part]
            given[row, : len(whole)] = torch.tensor(self.model.side_by_side([whole])["tokens"][0])
            parts[row, : len(whole)] = torch.tensor(
                [number for number, part in enumerate(one) for _ in part]
            )
        return given, parts

    def scores(self, texts: Sequence[Sequence[Sequence[int]]]) -> torch.Tensor:
        """In batches of texts of about the same length."""
        order = sorted(range(len(texts)), key=lambda index: sum(map(len, texts[index])))
        found: dict[int, torch.Tensor] = {}
        for start in range(0, len(order), ROWS):
            batch = order[start : start + ROWS]
            padded = [*batch, *batch[-1:] * (ROWS - len(batch))]
            made = self([texts[index] for index in padded])
            found |= dict(zip(batch, made[: len(batch)], strict=True))
        return torch.stack([found[index] for index in range(len(texts))])


def train(reader: Reader, taught: Sequence[Lesson], epochs: float, chance: random.Random) -> None:
    """Weights are kept as 32-bit floats and multiplied as bfloat16."""
    for part in (reader.normal, reader.layers):
        part.bfloat16()
    named = [(name, one) for name, one in reader.named_parameters() if one.requires_grad]
    exact = [nn.Parameter(one.detach().float().clone()) for _, one in named]
    rates = [RATE if name.startswith("layers") else HEAD_RATE for name, _ in named]
    groups = [{"params": [one], "lr": rate} for one, rate in zip(exact, rates, strict=True)]
    optimizer = torch.optim.AdamW(groups)
    steps = math.ceil(len(taught) / AT_ONCE * epochs)
    drawn = _drawn(taught, chance)
    for step in range(steps):
        pace = min(1.0, (step + 1) / WARM) * max(0.02, 1 - step / steps)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * pace
        loss = _loss(reader, [next(drawn) for _ in range(AT_ONCE)], chance)
        loss.backward()
        for (_, used), one in zip(named, exact, strict=True):
            one.grad = None if used.grad is None else used.grad.float()
            used.grad = None
        nn.utils.clip_grad_norm_(exact, 1.0)
        optimizer.step()
        with torch.no_grad():
            for (_, used), one in zip(named, exact, strict=True):
                used.copy_(one)
        if step % 50 == 0:
            print(f"{step} of {steps}: {loss.item():.3f}", flush=True)
    for (_, used), one in zip(named, exact, strict=True):
        used.data = one.data


def go_on_from(reader: Reader, path: Path) -> None:
    """Put in what earlier training changed, as ``written`` gives it."""
    own = dict(reader.named_parameters())
    with np.load(path) as file, torch.no_grad():
        for number in range(KEPT_LAYERS, reader.model.sizes.layers):
            for part in _MATRICES:
                matrix = own[f"layers.{number}.{part}.weight"]
                matrix += torch.tensor(
                    dequantized(file[f"l{number}.{part}.w"].reshape(len(matrix), -1))
                )
                _put(own[f"layers.{number}.{part}.bias"], file[f"l{number}.{part}.b"])
            for part in ("aln", "oln"):
                for kind in ("weight", "bias"):
                    value = file[f"l{number}.{part}.{kind[0]}"]
                    _put(own[f"layers.{number}.{part}.{kind}"], value)
        _put(own["parts"], file["parts"])
        for part, layer in (("head", reader.head), ("out", reader.out)):
            _put(layer.weight, file[f"{part}.w"].astype(np.float32).reshape(layer.weight.shape))
            _put(layer.bias, file[f"{part}.b"].reshape(layer.bias.shape))


def _drawn(taught: Sequence[Lesson], chance: random.Random) -> Iterator[Lesson]:
    while True:
        yield from chance.sample(taught, len(taught))


def _loss(reader: Reader, together: Sequence[Lesson], chance: random.Random) -> torch.Tensor:
    drawn = [one.drawn(chance) for one in together]
    pairs = zip(together, drawn, strict=True)
    texts = [one.texts[index] for one, (chosen, _) in pairs for index in chosen]
    scores = reader.scores(texts).float()
    loss = torch.zeros(())
    for each, (_, count) in zip(scores.split([len(one) for one, _ in drawn]), drawn, strict=True):
        right = (torch.arange(len(each)) < count).float()
        if count:
            loss = loss + torch.logsumexp(each, 0) - torch.logsumexp(each[:count], 0)
        weight = right + (1 - right) * 2 / len(each)
        own = functional.binary_cross_entropy_with_logits(each, right, weight, reduction="sum")
        loss = loss + own / 2
    return loss / len(together)


def written(reader: Reader) -> dict[str, Any]:
    """What training changed, as ``cross_encoder.npz`` has it."""
    found: dict[str, Any] = {}
    weights = reader.model.weights
    own = {name: one.detach().float().numpy() for name, one in reader.named_parameters()}
    for number in range(KEPT_LAYERS, reader.model.sizes.layers):
        for part in _MATRICES:
            matrix, name = own[f"layers.{number}.{part}.weight"], f"l{number}.{part}"
            base = dequantized(weights[f"{name}.w"].reshape(len(matrix), -1))
            found[f"{name}.w"] = in_blocks(matrix - base)
            found[f"{name}.b"] = own[f"layers.{number}.{part}.bias"]
        for part in ("aln", "oln"):
            found[f"l{number}.{part}.w"] = own[f"layers.{number}.{part}.weight"]
            found[f"l{number}.{part}.b"] = own[f"layers.{number}.{part}.bias"]
    head = own["head.weight"].astype("<f2")
    found |= {"parts": own["parts"], "head.w": head, "head.b": own["head.bias"]}
    return found | {"out.w": own["out.weight"][0], "out.b": own["out.bias"]}


def in_blocks(matrix: Floats) -> Bytes:
    """A matrix in blocks of four bits, each with the scale that fits it best."""
    blocks = matrix.reshape(-1, BLOCK)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(1)[:, None], 1)
    scales = (largest / -SCALES).astype("<f2")
    parts = blocks[:, None] / np.where(scales == 0, 1, scales).astype(np.float32)[..., None]
    whole = np.clip(np.rint(parts) + 8, 0, 15)
    errors = (((whole - 8) * scales[..., None] - blocks[:, None]) ** 2).sum(2)
    best = np.arange(len(blocks)), errors.argmin(1)
    chosen = whole[best].astype(np.uint8)
    packed = chosen[:, : BLOCK // 2] | chosen[:, BLOCK // 2 :] << 4
    return np.asarray(np.concatenate([scales[best][:, None].view(np.uint8), packed], 1).ravel())


def _normal(model: E5, name: str) -> nn.LayerNorm:
    normal = nn.LayerNorm(model.sizes.hidden, model.sizes.epsilon)
    _put(normal.weight, floats(model.weights[f"{name}.w"]))
    _put(normal.bias, floats(model.weights[f"{name}.b"]))
    return normal


def _put(parameter: nn.Parameter, values: Floats) -> None:
    with torch.no_grad():
        parameter.copy_(torch.tensor(values))


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the cross-encoder.")
    parser.add_argument("lessons", type=Path, metavar="FILE")
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--start", type=Path, metavar="FILE")
    parser.add_argument("--write", type=Path, default=FILE, metavar="FILE")
    options = parser.parse_args()
    torch.manual_seed(1)
    reader = Reader(E5())
    if options.start:
        go_on_from(reader, options.start)
    train(reader, lessons(options.lessons), options.epochs, random.Random(1))
    np.savez(options.write, **written(reader))


if __name__ == "__main__":
    main()
