"""Count the calls that a workspace's life costs on the model tier, from the ledger.

    python benchmarks/model_life.py PATH [--documents N]

Adds a file (or the first documents of a data set's folder) to a temporary workspace with a stub for
the chat model, moves all documents to the trash and back, deletes them and adds them again, and
edits a paragraph of the longest. Prints the calls of each step by stage, and the estimates before
the first and the last beside the truth. Whatever the stub writes differs with every word of its
prompt, so changes go as far up as they can; completion tokens are the stub's.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import secrets
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import model_overhead as overhead  # sets Django up, with the embedder that hashes words

from ingestion.documents import estimates, lifecycle, services, trial_reading, versions
from ingestion.documents.cost_model import Estimate, Extent, Range
from ingestion.documents.estimates import FileSize
from ingestion.history.recording import ChangeContext
from ingestion.models import Document
from retrieval.evaluation import dataset
from workspaces import access
from workspaces.administration.services import workspace_purge
from workspaces.models import ModelCall, ModelPrice, Workspace
from workspaces.people import services as people_services

PRICE: Final = {"prompt": 2.5, "cached_prompt": 1.25, "completion": 10}
"""Per million tokens, as a common model costs."""
MOST_OFF: Final = 1.5
"""How far the middle of an estimate may be from the truth."""
NEW_WORDS: Final = (
    "Old Fezziwig had painted the sign above the door with his own hand that morning."
)


@dataclass(frozen=True)
class Given:
    """A document to add."""

    title: str
    content: bytes

    @property
    def name(self) -> str:
        return f"{self.title}.txt"


@dataclass(frozen=True)
class Step:
    """What one step was estimated to take and took; ``calls`` are those it added to the ledger."""

    name: str
    calls: Sequence[ModelCall]
    expected: Estimate | None = None

    @property
    def made(self) -> list[ModelCall]:
        return [call for call in self.calls if call.state == ModelCall.State.DONE]


def life_of(workspace: Workspace, given: Sequence[Given]) -> Iterator[Step]:
    """Add documents, move all to the trash and back, delete all and add them again, then edit a
    paragraph of the longest.
    """
    change = ChangeContext(workspace, None, via="command")
    with access.in_workspace(workspace.pk):
        ModelPrice.objects.create(workspace=workspace, model="stub", **PRICE)
    sizes = [FileSize(one.name, len(one.content), _extent(workspace, one)) for one in given]
    expected = estimates.estimate_for_files(workspace=workspace, files=sizes)
    yield _step(workspace, "fresh", lambda: _add(workspace, given), expected)
    yield _step(workspace, "trashed", lambda: _move(change, lifecycle.documents_trash))
    yield _step(workspace, "restored", lambda: _move(change, lifecycle.documents_restore))
    yield _step(workspace, "deleted", lambda: _move(change, lifecycle.documents_delete))
    yield _step(workspace, "added again", lambda: _add(workspace, given))
    edited = max(given, key=lambda one: len(one.content))
    yield _step(workspace, "edited", lambda: _edit(change, edited), _expected(workspace, edited))


def _step(
    workspace: Workspace, name: str, begin: Callable[[], object], expected: Estimate | None = None
) -> Step:
    with access.in_workspace(workspace.pk):
        known = set(ModelCall.objects.in_workspace(workspace).values_list("pk", flat=True))
        begin()
    services.process_workspace(workspace=workspace)
    with access.in_workspace(workspace.pk):
        calls = ModelCall.objects.in_workspace(workspace).exclude(pk__in=known)
        return Step(name, list(calls), expected)


def _extent(workspace: Workspace, given: Given) -> Extent:
    """What ``manage.py ingest`` reads of the file for its estimate."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(given.content)
        file.flush()
        path = Path(file.name)
        return trial_reading.new_extents(workspace=workspace, files={path: given.name})[path]


def _expected(workspace: Workspace, edited: Given) -> Estimate:
    with access.in_workspace(workspace.pk):
        document = Document.objects.in_workspace(workspace).get(title=edited.title)
    return trial_reading.replacement_estimate(
        workspace=workspace,
        document_id=document.pk,
        file=io.BytesIO(with_new_words(edited)),
        name=edited.name,
    )


def _add(workspace: Workspace, given: Sequence[Given]) -> None:
    for one in given:
        content = io.BytesIO(one.content)
        services.document_add(workspace=workspace, name=one.name, title=one.title, content=content)


def _edit(change: ChangeContext, given: Given) -> None:
    document = Document.objects.in_workspace(change.workspace).get(title=given.title)
    content = io.BytesIO(with_new_words(given))
    versions.document_replace(change=change, document=document, file=content, name=given.name)


def with_new_words(given: Given) -> bytes:
    """The document with the last sentence of its middle paragraph replaced."""
    parts = re.split(r"(\n\s*\n)", given.content.decode())
    middle = len(parts) // 4 * 2
    kept = parts[middle].rsplit(". ", 1)[0]
    parts[middle] = f"{kept}. {NEW_WORDS}"
    return "".join(parts).encode()


def _move(change: ChangeContext, act: Callable[..., object]) -> None:
    documents = Document.objects.in_workspace(change.workspace)
    act(change=change, documents=list(documents))


# --- the estimate beside the truth ----------------------------------------------------------------
def comparison(step: Step) -> Iterator[str]:
    """The estimate of a step beside what it took: calls, tokens in and out, and cost."""
    if step.expected is None:
        return
    expected, made = step.expected, step.made
    truth = {
        "calls": (expected.calls, len(made)),
        "tokens in": (expected.prompt_tokens, sum(call.prompt_tokens for call in made)),
        "tokens out": (expected.completion_tokens, sum(call.completion_tokens for call in made)),
        "cost": (expected.cost or Range(0, 0), float(sum(call.cost for call in made))),
    }
    for name, (range_, true) in truth.items():
        middle = (range_.low + range_.high) / 2
        off = max(middle / true, true / middle) if middle and true else float("inf")
        verdict = "met" if off <= MOST_OFF else "MISSED"
        yield (
            f"  {name:<11}{range_.low:>12,.2f} to {range_.high:>12,.2f}, truth {true:>12,.2f}:"
            f" a factor of {off:.2f} from the middle - {verdict}"
        )


def stages_of(step: Step) -> Counter[str]:
    return Counter(call.stage for call in step.made)


def given_at(path: Path, most: int) -> list[Given]:
    if path.is_dir():
        found = dataset.load(path).documents[:most]
        return [Given(one.title, one.text.encode()) for one in found]
    return [Given(path.stem, path.read_bytes())]


def main() -> None:
    parser = argparse.ArgumentParser(description="What a workspace's life costs in calls.")
    parser.add_argument("path", type=Path, help="a file, or a folder with documents.jsonl")
    parser.add_argument("--documents", type=int, default=50, help="of a folder, the first N")
    options = parser.parse_args()
    overhead.measure(overhead.Clock())
    workspace = people_services.workspace_create(
        name="Evaluation of calls", owner=None, slug=f"evaluation-{secrets.token_hex(6)}"
    )
    figures = {}
    try:
        for step in life_of(workspace, given_at(options.path, options.documents)):
            figures[step.name] = stages_of(step)
            known = len(step.calls) - len(step.made)
            print(f"{step.name}: {len(step.made)} calls, {known} from the cache", flush=True)
            print(
                "  " + ", ".join(f"{n} {stage}" for stage, n in sorted(figures[step.name].items()))
            )
            print("\n".join(comparison(step)))
    finally:
        workspace_purge(workspace.pk)
    overhead.RESULTS.mkdir(exist_ok=True)
    target = overhead.RESULTS / f"model-life-{options.path.stem}.json"
    target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
