"""ask QUESTION --workspace SLUG: answer from the documents, each sentence cited."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from kb_project.commands import DataCommand
from retrieval.answering import context_only
from retrieval.answering.options import AnswerOptions, ResponseType
from retrieval.conversations import asking, queries
from retrieval.management.scope_options import add_question_options, scope_of
from retrieval.models import NEXT_STEP, Outcome
from retrieval.search.modes import ANSWER_MODES
from workspaces.people import queries as people_queries


class Command(DataCommand):
    help = "Answer a question from the documents of a workspace."

    def add_arguments(self, parser: CommandParser) -> None:
        add_question_options(parser, ANSWER_MODES)
        parser.add_argument(
            "--response",
            choices=[one.value for one in ResponseType],
            help="The form of the answer.",
        )
        parser.add_argument(
            "--instructions",
            metavar="TEXT",
            help="Wishes on form, tone, language and emphasis, for a chat model.",
        )
        parser.add_argument(
            "--only",
            choices=context_only.CHOICES,
            help="Print what an answer would be written from, or also the messages to a model;"
            " no answer is made.",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        workspace = people_queries.workspace_at(slug=options["workspace"])
        wanted = {
            "workspace": workspace,
            "user": None,
            "question": options["question"],
            "mode": options["mode"],
            "scope": scope_of(workspace, options),
            "options": AnswerOptions.from_json(options),
        }
        if options["only"]:
            self._print_context(asking.context_for(**wanted, only=options["only"]), options)
            return
        answer = asking.ask(**wanted)
        view = queries.answer_view(workspace=workspace, answer=answer)
        if options["json"]:
            self.stdout.write(json.dumps(view, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(as_text(view)))

    def _print_context(self, found: dict[str, Any], options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(found, ensure_ascii=False))
            return
        if options["only"] == context_only.CONTEXT:
            self.stdout.write(found["text"])
        for message in found["messages"]:
            self.stdout.write(f"=== {message['role']} ===\n{message['content']}")
        for note in found["notes"]:
            self.stdout.write(note["sentence"])


def as_text(view: dict[str, Any]) -> Iterator[str]:
    """Yield the answer with its citations, or that there is none."""
    if view["outcome"] == Outcome.ANSWERED:
        yield " ".join(
            one["text"] + "".join(f" [{number}]" for number in one["citations"])
            for one in view["sentences"]
        )
        yield ""
        for one in view["citations"]:
            yield f"[{one['number']}] {one['title']} [{one['start']}:{one['end']}]"
    else:
        yield view["message"]
        if view["message"] == Outcome.NOTHING.label:
            yield NEXT_STEP
        yield from (f"- {one['title']}: {' '.join(one['text'].split())}" for one in view["nearest"])
    notes = view["trace"]["notes"]
    yield from (one["sentence"] for one in notes if one["sentence"] != view["message"])
