"""search QUESTION --workspace SLUG: print the passages found for a question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kb_project.commands import DataCommand
from retrieval.management.scope_options import add_question_options, scope_of
from retrieval.search import services
from retrieval.search.query import TopicChoice
from retrieval.search.results import Hit
from retrieval.search.services import SearchResult
from workspaces.people import queries as people_queries


class Command(DataCommand):
    help = "Find the passages in a workspace that are relevant to a question."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--top-k", type=int, default=settings.TOP_K, metavar="K")
        add_question_options(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        workspace = people_queries.workspace_at(slug=options["workspace"])
        found = services.search(
            workspace=workspace,
            question=options["question"],
            mode=options["mode"],
            top_k=options["top_k"],
            scope=scope_of(workspace, options),
            topics=TopicChoice.from_json(options),
        )
        if options["json"]:
            self.stdout.write(json.dumps(as_json(found), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(as_text(found)))


def as_json(found: SearchResult) -> dict[str, Any]:
    return {
        "mode": found.mode.name,
        "hits": [_hit_as_json(hit) for hit in found.hits],
        "trace": found.trace,
    }


def _hit_as_json(hit: Hit) -> dict[str, Any]:
    return {
        "document": str(hit.document_id),
        "title": hit.title,
        "chunk": str(hit.chunk_id),
        "start": hit.start,
        "end": hit.end,
        "score": round(hit.score, 6),
        "text": hit.text,
        "why": list(hit.why),
        "headings": list(hit.heading_path),
        "page": hit.page,
    }


def as_text(found: SearchResult) -> Iterator[str]:
    for number, hit in enumerate(found.hits, start=1):
        page = f", page {hit.page}" if hit.page else ""
        yield f"{number}. {hit.title}{page} [{hit.start}:{hit.end}] {'. '.join(hit.why)}"
        yield "   " + " ".join(hit.text.split())[:300]
    if not found.hits:
        yield "Nothing was found."
    yield from (note.sentence for note in found.notes)
