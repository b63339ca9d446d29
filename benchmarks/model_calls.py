"""Count the calls and tokens a document costs on the model tier, from the ledger.

    python benchmarks/model_calls.py FILE [FILE …] [--price 0.15/0.60/0.075] [--seconds 0.2]

Ingests the files (or the first documents of a data set's folder) into a temporary workspace, with a
scripted server for the chat model, which counts tokens and caches beginnings of prompts as OpenAI's
does. Prints the calls of each stage beside their upper limit, with tokens, those from the server's
cache, and the cost, then deletes the documents and ingests them again, which should make no calls.
The server always finds something at first and nothing in a gleaning, so call counts match a real
model that does the same; completion tokens are the script's.
"""

from __future__ import annotations

import argparse
import io
import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final

import model_overhead as overhead  # sets Django up, with the embedder that hashes words

from ingestion.documents import services
from ingestion.models import Chunk, CommunityReport, Document, Entity, SummaryNode
from kb_project.llm.call import Exchange
from kb_project.llm.chat import Chat
from kb_project.llm.config import ChatConfig
from kb_project.llm.openai_client import OpenAiProvider
from kb_project.llm.slots import LocalSlots
from kb_project.ports import Ports
from retrieval.evaluation import dataset
from tests.prompt_cache import PromptCache, text_of
from tests.provider import Provider, Seen
from workspaces import access
from workspaces.administration.services import workspace_purge
from workspaces.language_models import services as language_model_services
from workspaces.language_models.services import PriceGiven
from workspaces.models import ModelCall, Workspace
from workspaces.people import services as people_services
from workspaces.usage.ledger import TableCallStore
from workspaces.usage.queries import price_in

MOST: Final = 100
MODEL: Final = "small-1"
ABREAST: Final = 8


class ServedPorts(overhead.StubPorts):
    """The models behind HTTP, as a workspace has them."""

    def __init__(self, server: Provider) -> None:
        super().__init__(overhead.Clock())
        self._server = server

    def _build(self, workspace_id: Any) -> Ports:
        config = ChatConfig(self._server.url, MODEL, concurrency=ABREAST)
        chat = Chat(
            config,
            TableCallStore(workspace_id, endpoint=config.endpoint),
            Exchange(OpenAiProvider(config.endpoint, "", is_operators=True)),
            LocalSlots(config.concurrency),
        )
        return replace(super()._build(workspace_id), chat=chat)


def answer(seen: Seen) -> str | dict[str, Any]:
    """Answer as the stub of ``model_overhead`` does."""
    form = (seen.schema or {}).get("properties", {})
    messages = seen.body["messages"]
    if "entities" in form:
        is_gleaning = len(messages) > 2
        nothing: dict[str, Any] = {"entities": [], "relationships": [], "keywords": []}
        return nothing if is_gleaning else overhead.extraction(text_of(messages[1]))
    if "findings" in form:
        return overhead.report(seen.text)
    if "conflicts" in form:
        return {"description": "What the statements say together.", "conflicts": []}
    if form:
        return {"verdict": "unsure", "number": 0, "reason": "It is not said."}
    return "A short text about what the records say."


@dataclass(frozen=True)
class Run:
    """One ingest, by stage: calls made, calls answered from the cache, tokens of the calls made,
    those of them that the server had in its cache, and the cost.
    """

    made: Counter[str]
    cached: Counter[str]
    prompt_tokens: Counter[str]
    known_tokens: Counter[str]
    completion_tokens: Counter[str]
    cost: Counter[str]


def ingest(workspace: Workspace, files: list[Path]) -> Run:
    with access.in_workspace(workspace.pk):
        known = set(ModelCall.objects.in_workspace(workspace).values_list("pk", flat=True))
        for title, content in contents(files):
            services.document_add(
                workspace=workspace, name=f"{title}.txt", title=title, content=content
            )
    services.process_workspace(workspace=workspace)
    with access.in_workspace(workspace.pk):
        calls = ModelCall.objects.in_workspace(workspace).exclude(pk__in=known)
        return tally(list(calls))


def contents(files: list[Path]) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield each document's title and content; of a data set's folder, only the first documents."""
    for path in files:
        if path.is_dir():
            for document in dataset.load(path).documents[:MOST]:
                yield document.title, io.BytesIO(document.text.encode())
        else:
            yield path.stem, io.BytesIO(path.read_bytes())


def tally(calls: list[ModelCall]) -> Run:
    counts: defaultdict[str, Counter[Any]] = defaultdict(Counter)
    for call in calls:
        counts[call.state][call.stage] += 1
        if call.state == ModelCall.State.DONE:
            counts["prompt"][call.stage] += call.prompt_tokens
            counts["known"][call.stage] += call.cached_tokens
            counts["cost"][call.stage] += float(call.cost)
            counts["completion"][call.stage] += call.completion_tokens
    return Run(
        counts[ModelCall.State.DONE],
        counts[ModelCall.State.CACHED],
        counts["prompt"],
        counts["known"],
        counts["completion"],
        counts["cost"],
    )


def forget(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        Document.objects.in_workspace(workspace).delete()


def promised(workspace: Workspace, gleanings: int) -> dict[str, int]:
    """Return the most calls each stage may make."""
    with access.in_workspace(workspace.pk):
        chunks = Chunk.objects.in_workspace(workspace).count()
        return {
            "situate": chunks,
            "extract": chunks * (1 + gleanings),
            "describe": Entity.objects.in_workspace(workspace).count(),
            "reports": CommunityReport.objects.in_workspace(workspace).count(),
            "tree": SummaryNode.objects.in_workspace(workspace).count(),
        }


def lines(first: Run, second: Run, most: dict[str, int]) -> Iterator[str]:
    titles = ("calls", "at most", "prompt", "in cache", "completion", "cost", "again")
    yield f"{'stage':<18}" + "".join(f"{title:>12}" for title in titles)
    stages = sorted(set(most) | set(first.made))
    groups = [(stage, [stage]) for stage in stages]
    groups += [
        ("without situating", [stage for stage in stages if stage != "situate"]),
        ("all", stages),
    ]
    for name, group in groups:
        counters = (first.made, Counter(most), first.prompt_tokens, first.known_tokens)
        counts = [sum(counter[stage] for stage in group) for counter in counters]
        counts.append(sum(first.completion_tokens[stage] for stage in group))
        cost, again = (
            sum(counter[stage] for stage in group) for counter in (first.cost, second.made)
        )
        yield (
            f"{name:<18}"
            + "".join(f"{count:>12,}" for count in counts)
            + f"{cost:>12.4f}{again:>12}"
        )
    yield f"a second run: {second.made.total()} calls, {second.cached.total()} from the cache"


def main() -> None:
    parser = argparse.ArgumentParser(description="What documents cost in calls and tokens.")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--price", default="0.15/0.60/0.075", help="per million: in, out, cached")
    parser.add_argument("--seconds", type=float, default=0.2, help="the server takes for a call")
    options = parser.parse_args()
    overhead.measure(overhead.Clock())
    workspace = people_services.workspace_create(
        name="Evaluation of calls", owner=None, slug=f"evaluation-{secrets.token_hex(6)}"
    )
    set_price(workspace, options.price)
    try:
        with Provider() as server:
            server.script.caches = PromptCache(options.seconds)
            server.script.on("", answer)
            overhead.runner.ports_for = ServedPorts(server)
            first = ingest(workspace, options.files)
            most = promised(workspace, gleanings=1)
            forget(workspace)
            second = ingest(workspace, options.files)
    finally:
        workspace_purge(workspace.pk)
    print("\n".join(lines(first, second, most)))
    save(options.files, first, second, most)


def set_price(workspace: Workspace, entry: str) -> None:
    model, price = price_in(f"{MODEL}={entry}")
    given = PriceGiven(model, price.prompt, price.completion, price.cached_prompt)
    language_model_services.prices_set(workspace=workspace, prices=[given])


def save(files: list[Path], first: Run, second: Run, most: dict[str, int]) -> None:
    figures: dict[str, Any] = {
        "files": [path.name for path in files],
        "calls": first.made,
        "at_most": most,
        "prompt_tokens": first.prompt_tokens,
        "cached_tokens": first.known_tokens,
        "completion_tokens": first.completion_tokens,
        "cost": first.cost,
        "calls_again": second.made.total(),
        "cached_again": second.cached.total(),
    }
    overhead.RESULTS.mkdir(exist_ok=True)
    target = overhead.RESULTS / f"model-calls-{files[0].stem}.json"
    target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
