"""Have a chat model write the reports of communities of one level, one call each.

A report that the model could not write is made of sentences of the documents, with the reason
beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ingestion.models.communities import OTHER_TOPICS, other_topics_id
from ingestion.stages.reports import (
    context,
    digests,
    evidence,
    extractive,
    records,
    rows,
    saving,
    written,
)
from ingestion.stages.reports.context import Context
from ingestion.stages.reports.extractive import Report
from ingestion.stages.reports.saving import Finished, Said
from ingestion.stages.reports.written import ReportReply, Written
from kb_project.errors import PauseError, Problem, ReplyError
from kb_project.llm.ports import About, ChatModel, ChatReply, ChatRequest, ModelOptions, Role
from kb_project.sql import bulk_plans
from workspaces import access

STAGE: Final = "reports"
LONGEST_AUTHOR: Final = 120
KEPT: Final = "The report is made of sentences from your documents instead."
NEXT_STEP: Final = "Have it rewritten, or choose another model for summaries."

# What the model wrote, why it did not, or None if there is nothing to write about.
Answer = Written | ReplyError | None

NO_ROOM: Final = ReplyError(
    "The model's context window is too small for this topic.",
    code="context_too_long",
    next_step="Choose a model with a larger context window for summaries.",
)


@dataclass(frozen=True, slots=True)
class Asker:
    """Writes reports with a workspace's chat model. Use outside of transactions."""

    workspace_id: UUID
    chat: ChatModel
    options: ModelOptions
    titles: Mapping[UUID, str]

    def write(self, ids: Sequence[UUID], on_answer: Callable[[int], None]) -> int:
        """Write the reports of communities of one level; ``on_answer`` gets the number of answers.

        Returns how many were written: a request that would be the same as before is not made again.
        Raises PauseError if the work must wait; answers that came in before are saved.
        """
        with access.in_workspace(self.workspace_id), bulk_plans():
            seen = saving.last_change(self.workspace_id)
            materials = records.materials(self.workspace_id, ids)
        budget = self.budget()
        contexts = {id_: context.build(materials[id_], budget) for id_ in ids}
        made_from = {id_: self._digest(one) for id_, one in contexts.items()}
        with access.in_workspace(self.workspace_id):
            for id_ in saving.keep(self.workspace_id, made_from, seen):
                del contexts[id_]
        answers: dict[UUID, Answer] = {
            id_: NO_ROOM if materials[id_].nodes else None
            for id_, made in contexts.items()
            if not made.labels
        }
        del materials
        try:
            self._ask(contexts, answers, on_answer)
        except PauseError:
            self._save(contexts, made_from, answers, seen)
            raise
        return self._save(contexts, made_from, answers, seen)

    def _digest(self, made: Context) -> str:
        author = self.chat.model_of(Role.SUMMARISE)
        return digests.of_prompt(author, written.asked(made, self.options), made)

    def budget(self) -> int:
        """Tokens available for the records of one report."""
        room = self.chat.input_limit(Role.SUMMARISE) - written.overhead(self.options)
        return min(context.BUDGET, room)

    def _ask(
        self,
        contexts: Mapping[UUID, Context],
        answers: dict[UUID, Answer],
        on_answer: Callable[[int], None],
    ) -> None:
        ids = [id_ for id_, made in contexts.items() if made.labels]
        requests = [self._request(contexts[id_]) for id_ in ids]
        for place, reply in self.chat.ask_many(requests):
            answers[ids[place]] = _answer(reply, contexts[ids[place]])
            on_answer(len(answers))

    def _request(self, made: Context) -> ChatRequest[ReportReply]:
        filled = written.asked(made, self.options)
        return ChatRequest(Role.SUMMARISE, filled, About(STAGE), schema=ReportReply)

    def _save(
        self,
        contexts: Mapping[UUID, Context],
        made_from: Mapping[UUID, str],
        answers: Mapping[UUID, Answer],
        seen: int,
    ) -> int:
        """Save the answers in one transaction; return how many reports were written."""
        if not answers:
            return 0
        with access.in_workspace(self.workspace_id), bulk_plans():
            # Also for missing parts: a title, or a rating that is a number.
            wanting = [
                id_
                for id_, one in answers.items()
                if not isinstance(one, Written) or one.rating is None or not one.title
            ]
            topics = rows.topics(self.workspace_id, wanting, self.titles)
            local = {id_: extractive.write(topic) for id_, topic in topics.items()}
            kept = {id_: one for id_, one in answers.items() if isinstance(one, Written)}
            finished = self._finished(kept, contexts, made_from, local)
            for id_, one in answers.items():
                if not isinstance(one, Written):
                    finished[id_] = saving.quoted(local[id_], made_from[id_], _problem(one))
            return saving.replace_reports(self.workspace_id, finished, seen)

    def _finished(
        self,
        kept: Mapping[UUID, Written],
        contexts: Mapping[UUID, Context],
        made_from: Mapping[UUID, str],
        local: Mapping[UUID, Report],
    ) -> dict[UUID, Finished]:
        passages = [passage for one in kept.values() for passage in one.passages]
        found = evidence.places(
            self.workspace_id, {record for one in passages for record in one.references}
        )
        rest = other_topics_id(self.workspace_id)
        author = self.chat.model_of(Role.SUMMARISE)[:LONGEST_AUTHOR]
        return {
            id_: Finished(
                title=OTHER_TOPICS if id_ == rest else one.title or local[id_].title,
                summary=one.summary,
                rating=local[id_].rating if one.rating is None else one.rating,
                reason=local[id_].reason if one.rating is None else one.reason,
                said=_said(one, found),
                written_by=author,
                substituted=contexts[id_].substituted,
                rejected=one.rejected,
                digest=made_from[id_],
            )
            for id_, one in kept.items()
        }


def _answer(reply: ChatReply[ReportReply] | ReplyError, made: Context) -> Answer:
    if isinstance(reply, ReplyError):
        return reply
    if reply.value is None:
        return ReplyError("The model did not return a report.", code="reply_invalid")
    kept = written.read(reply.value, made)
    if not kept.is_grounded:
        return ReplyError(
            "Nothing in the model's report was supported by what is known of the topic.",
            code="report_unreferenced",
        )
    return kept


def _problem(error: ReplyError | None) -> Problem | None:
    return error.problem(kept=KEPT, next_step=NEXT_STEP) if error else None


def _said(report: Written, found: Mapping[UUID, list[evidence.Place]]) -> list[Said]:
    return [
        Said(
            one.part.value,
            one.text,
            one.explanation,
            written.references_of(one),
            [
                (place.chunk, place.start, place.end)
                for place in evidence.best(f"{one.text} {one.explanation}", one.references, found)
            ],
        )
        for one in report.passages
    ]
