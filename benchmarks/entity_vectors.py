"""Enter `local` by vectors of entities, on the model tier, beside entering it by names.

    python benchmarks/entity_vectors.py DATASET_DIR [--documents N]

Ingests the set with a scripted chat model and the built-in embedder, both behind real HTTP; there,
a question is embedded like a passage. Entities and their descriptions are the scripted model's.
Then embeds each as *name: description* at the same endpoint, and puts every question to `local`
with names alone, with the nearest entities instead, and with both. The product has no such vectors:
this measures whether it should.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from uuid import UUID

import model_overhead as overhead  # sets Django up
from django.conf import settings

from ingestion.models import Entity
from ingestion.pipeline import workspace_jobs
from kb_project.graph.walk import Seeds
from kb_project.graph.walk_index import WalkIndex
from kb_project.llm.embedders import LocalEmbedder
from kb_project.llm.ports import Embedder, Vectors
from retrieval.evaluation import dataset, runner
from retrieval.evaluation.measuring import Plan
from retrieval.search import keywords, local
from retrieval.search.query import Query
from tests import provider as served
from tests.provider import Provider, Seen
from tests.provider_answers import fence
from workspaces import access
from workspaces.language_models import embedding, services as model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import Workspace
from workspaces.ports import ports_for

NEAREST: Final = 20
KS: Final = (5, 8, 10, 20)
IDENTIFIED: Final = rf"{overhead.NAME.pattern}|\b\w+(?:_\w+)+\b|\b[a-z]+[A-Z]\w*"
"""A capitalised name, or an identifier of source code."""
WEIGHTS: Final = {"beside, 0.1": 0.1, "beside, 0.25": 0.25, "beside, 0.5": 0.5}
Begun = Callable[[Query, WalkIndex, Seeds], Seeds]


class LocalModels(Provider):
    """The scripted server of models with the built-in embedder behind `/embeddings`."""

    def __init__(self) -> None:
        super().__init__()
        self.key = ""
        self._embedder = LocalEmbedder()
        self.script.on("<passage", extracted)

    def embedded(self, body: dict[str, Any], _: int) -> dict[str, Any]:
        vectors = self._embedder.embed_passages(body["input"])
        data = [
            {"index": place, "object": "embedding", "embedding": vector.tolist()}
            for place, vector in enumerate(vectors)
        ]
        return {"object": "list", "data": data, "usage": {"prompt_tokens": len(data)}}


def extracted(seen: Seen) -> str | dict[str, Any]:
    """Names and those that stand beside each other, where entities are asked for."""
    if "entities" in (seen.schema or {}).get("properties", {}):
        return overhead.extraction(fence(seen.text, "passage"))
    return served.answer_for(seen.text, seen.schema)


def with_models(server: Provider) -> Callable[..., Workspace]:
    """Replace the service that makes the workspace: its models are at the server from the start."""
    create = dataset.people_services.workspace_create

    def made(**options: Any) -> Workspace:
        workspace = create(**options)
        choice = ModelChoice(
            endpoint=server.url, model=server.model, gleanings=0, wants_judge=False, concurrency=8
        )
        model_services.model_settings_save(workspace=workspace, choice=choice)
        embedding.embedding_change(
            workspace=workspace, provider=embedding.ENDPOINT, model=served.EMBEDDING_MODEL
        )
        workspace_jobs.vectors_renew(workspace_id=workspace.pk)
        return workspace

    return made


class EntityVectors:
    """The vectors of a workspace's entities, and the seeds that they give a question."""

    def __init__(self, workspace: Workspace, embedder: Embedder) -> None:
        with access.in_workspace(workspace.pk):
            rows = Entity.objects.in_workspace(workspace).order_by("pk")
            texts = {row.pk: f"{row.name}: {row.description}".rstrip(": ") for row in rows}
        self.ids: Sequence[UUID] = list(texts)
        self.described = sum(": " in text for text in texts.values())
        self._vectors: Vectors = embedder.embed_passages(list(texts.values()))

    def begun(self, weight: float, *, with_names: bool) -> Begun:
        begin = keywords.begun

        def found(query: Query, index: WalkIndex, start: Seeds) -> Seeds:
            likeness = self._vectors @ query.vector.value
            near = sorted(zip(likeness.tolist(), self.ids, strict=True), reverse=True)[
                : NEAREST + 1
            ]
            bottom = near[-1][0]
            top = max(near[0][0] - bottom, 1e-9)
            entities = dict(start.entities) if with_names else {}
            for closeness, entity_id in near[:NEAREST]:
                if (place := index.entity_ids.place(entity_id)) is not None:
                    share = weight * float(index.salience[place]) * (closeness - bottom) / top
                    entities[place] = max(entities.get(place, 0.0), share)
            return begin(query, index, Seeds(entities, start.chunks, start.names))

        return found


def measured(source: dataset.Dataset, filled: dataset.Filled, begun: Begun) -> dict[str, Any]:
    with patch.object(local.keywords, "begun", begun):
        tally = runner.run_questions(source, Plan(("local",), KS), filled)["local"]
    return tally.summary(KS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Entity vectors on and off, on the model tier.")
    parser.add_argument("dataset", type=Path, help="a folder with documents.jsonl")
    parser.add_argument("--documents", type=int, default=0, help="the first N alone; 0 for all")
    options = parser.parse_args()
    source = dataset.load(options.dataset)
    if options.documents:
        source = replace(source, documents=source.documents[: options.documents])
    settings.MODEL_HOSTS_ALLOWED = ["127.0.0.1"]
    overhead.NAME = re.compile(IDENTIFIED)
    with (
        LocalModels() as server,
        patch.object(served, "embedded", server.embedded),
        patch.object(dataset.people_services, "workspace_create", with_models(server)),
        dataset.filled_workspace(source) as filled,
    ):
        embedder = ports_for(filled.workspace.pk).embedder
        vectors = EntityVectors(filled.workspace, embedder)
        print(
            f"{len(source.documents)} documents ({filled.failed} failed), {len(vectors.ids)}"
            f" entities, {vectors.described} of them described; {embedder.fingerprint};"
            f" calls {dict(server.counts())}",
            flush=True,
        )
        variants: dict[str, Begun] = {
            "names": keywords.begun,
            "instead": vectors.begun(1.0, with_names=False),
            **{name: vectors.begun(one, with_names=True) for name, one in WEIGHTS.items()},
        }
        figures = {}
        for name, begun in variants.items():
            figures[name] = measured(source, filled, begun)
            perfect = " / ".join(f"{figures[name]['perfect'][str(k)]:.3f}" for k in KS)
            print(f"{name:<14} perfect@{', '.join(map(str, KS))}: {perfect}", flush=True)
    overhead.RESULTS.mkdir(exist_ok=True)
    target = overhead.RESULTS / f"entity-vectors-{source.name}.json"
    target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
