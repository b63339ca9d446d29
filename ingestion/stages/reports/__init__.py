"""Reports: describe each topic in cited sentences, from the smallest topics up.

In: communities marked as changed, with the evidence of their entities, relationships and
sub-communities.  Out: one report per community: title, summary, rating with its reason, findings,
and for every sentence the chunks and spans it rests on.
Safe to repeat: a batch of communities is written in one transaction, which clears their marks. What
was finished before an interruption is not written again, nor is a report whose input is the same as
that of the current one. Deeper levels come first, since a topic also draws on its
sub-topics' findings. A chat model gets one call per community, a whole level in parallel; without
one, reports are sentences of the documents. So are those on topics of fewer entities than
``SMALLEST_WRITTEN``, and a report that the model could not write, with the reason beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from uuid import UUID

from ingestion.models import Community, IngestionJob
from ingestion.models.communities import OTHER_TOPICS, SMALLEST_WRITTEN, other_topics_id
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.reports import (
    context,
    evidence,
    extractive,
    naming,
    replies,
    rows,
    saving,
    sql,
)
from ingestion.stages.reports.context import Context
from ingestion.stages.reports.extractive import Report
from ingestion.stages.reports.replies import ParsedReport, ReportReply
from ingestion.stages.reports.saving import CitedText, StoredReport
from kb_project.errors import PauseError, ReplyError
from kb_project.llm.ports import About, ChatModel, ChatReply, ChatRequest, ModelOptions, Role
from kb_project.ports import Ports
from kb_project.sql import bulk_plans, run_sql
from workspaces import access

STAGE: Final = "reports"
LONGEST_AUTHOR: Final = 120
KEPT: Final = "The report is made of sentences from your documents instead."
NEXT_STEP: Final = "Have it rewritten, or choose another model for summaries."
NO_ROOM: Final = ReplyError(
    "The model's context window is too small for this topic.",
    code="context_too_long",
    next_step="Choose a model with a larger context window for summaries.",
)

BATCH: Final = 200

# What the model wrote, why it did not, or None if there is nothing to write about.
Answer = ParsedReport | ReplyError | None


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    workspace_id = job.workspace_id
    with access.in_workspace(workspace_id), bulk_plans():
        naming.renew_titles(workspace_id)
        run_sql(sql.MARK_ANCESTORS, {"workspace": workspace_id})
        marked = Community.objects.in_workspace(workspace_id).filter(is_changed=True)
        found = list(marked.order_by("-level", "pk").values_list("level", "pk", "size"))
        changed = [(level, pk) for level, pk, _ in found]
        small = {pk for _, pk, size in found if size < SMALLEST_WRITTEN}
    done = written = 0
    for batch in batches(changed, BATCH):
        quoted = [pk for pk in batch if ports.chat is None or pk in small]
        written += _quote(workspace_id, quoted)
        if ports.chat is not None:

            def answered(answers: int, before: int = done + len(quoted)) -> None:
                progress(before + answers, len(changed))

            writer = _ModelWriter(workspace_id, ports.chat, ports.options)
            written += writer.write([pk for pk in batch if pk not in small], answered)
        done += len(batch)
        progress(done, len(changed))
    return StageOutcome(written=written)


def batches(changed: Sequence[tuple[int, UUID]], size: int) -> Iterator[list[UUID]]:
    """Ids in batches that never mix levels, in the order given."""
    for _, level in groupby(changed, key=lambda pair: pair[0]):
        ids = [id_ for _, id_ in level]
        yield from (ids[start : start + size] for start in range(0, len(ids), size))


def _quote(workspace_id: UUID, ids: Sequence[UUID]) -> int:
    """Write the extractive reports of communities of one level; return how many."""
    if not ids:
        return 0
    with access.in_workspace(workspace_id), bulk_plans():
        seen = saving.last_change(workspace_id)
        topics = rows.topics(workspace_id, ids)
        digests = {id_: saving.digest_of_topic(topic) for id_, topic in topics.items()}
        kept = saving.keep(workspace_id, digests, seen)
        reports = {
            id_: saving.quoted(extractive.write(topic), digests[id_])
            for id_, topic in topics.items()
            if id_ not in kept
        }
        return saving.replace_reports(workspace_id, reports, seen)


# --- with a chat model ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _ModelWriter:
    """Writes reports with a workspace's chat model. Use outside of transactions."""

    workspace_id: UUID
    chat: ChatModel
    options: ModelOptions

    def write(self, ids: Sequence[UUID], on_answer: Callable[[int], None]) -> int:
        """Write the reports of communities of one level; ``on_answer`` gets the number of answers.

        Returns how many were written: a request that would be the same as before is not made again.
        Raises PauseError if the work must wait; answers that came in before are saved.
        """
        if not ids:
            return 0
        with access.in_workspace(self.workspace_id), bulk_plans():
            seen = saving.last_change(self.workspace_id)
            records = context.topic_records(self.workspace_id, ids)
            if self.options.local_extraction:
                records = rows.with_passages(self.workspace_id, records)
        author = self.chat.model_of(Role.SUMMARISE)
        room = self.chat.input_limit(Role.SUMMARISE) - replies.overhead(self.options)
        contexts = {id_: context.build(records[id_], min(context.BUDGET, room)) for id_ in ids}
        digests = {
            id_: saving.digest_of_prompt(author, replies.prompt_of(one, self.options), one)
            for id_, one in contexts.items()
        }
        with access.in_workspace(self.workspace_id):
            for id_ in saving.keep(self.workspace_id, digests, seen):
                del contexts[id_]
        answers: dict[UUID, Answer] = {
            id_: NO_ROOM if records[id_].entities else None
            for id_, one in contexts.items()
            if not one.labels
        }
        del records
        try:
            self._ask(contexts, answers, on_answer)
        except PauseError:
            self._save(contexts, digests, answers, seen)
            raise
        return self._save(contexts, digests, answers, seen)

    def _ask(
        self,
        contexts: Mapping[UUID, Context],
        answers: dict[UUID, Answer],
        on_answer: Callable[[int], None],
    ) -> None:
        ids = [id_ for id_, one in contexts.items() if one.labels]
        requests = [
            ChatRequest(
                Role.SUMMARISE,
                replies.prompt_of(contexts[id_], self.options),
                About(STAGE),
                schema=ReportReply,
            )
            for id_ in ids
        ]
        for index, reply in self.chat.ask_many(requests):
            answers[ids[index]] = _answer(reply, contexts[ids[index]])
            on_answer(len(answers))

    def _save(
        self,
        contexts: Mapping[UUID, Context],
        digests: Mapping[UUID, str],
        answers: Mapping[UUID, Answer],
        seen: int,
    ) -> int:
        """Save the answers in one transaction; return how many reports were written."""
        if not answers:
            return 0
        with access.in_workspace(self.workspace_id), bulk_plans():
            # Also for missing parts: a title, or a rating that is a number.
            incomplete = [
                id_
                for id_, one in answers.items()
                if not isinstance(one, ParsedReport) or one.rating is None or not one.title
            ]
            topics = rows.topics(self.workspace_id, incomplete)
            local = {id_: extractive.write(topic) for id_, topic in topics.items()}
            parsed = {id_: one for id_, one in answers.items() if isinstance(one, ParsedReport)}
            reports = self._reports(parsed, contexts, digests, local)
            for id_, one in answers.items():
                if not isinstance(one, ParsedReport):
                    problem = one.problem(kept=KEPT, next_step=NEXT_STEP) if one else None
                    reports[id_] = saving.quoted(local[id_], digests[id_], problem)
            return saving.replace_reports(self.workspace_id, reports, seen)

    def _reports(
        self,
        parsed: Mapping[UUID, ParsedReport],
        contexts: Mapping[UUID, Context],
        digests: Mapping[UUID, str],
        local: Mapping[UUID, Report],
    ) -> dict[UUID, StoredReport]:
        texts = [text for one in parsed.values() for text in one.texts]
        found = evidence.load(
            self.workspace_id, {record for one in texts for record in one.references}
        )
        rest = other_topics_id(self.workspace_id)
        author = self.chat.model_of(Role.SUMMARISE)[:LONGEST_AUTHOR]
        return {
            id_: StoredReport(
                title=OTHER_TOPICS if id_ == rest else one.title or local[id_].title,
                summary=one.summary,
                rating=local[id_].rating if one.rating is None else one.rating,
                reason=local[id_].reason if one.rating is None else one.reason,
                texts=_cited(one, found),
                written_by=author,
                substituted=contexts[id_].substituted,
                rejected=one.rejected,
                digest=digests[id_],
            )
            for id_, one in parsed.items()
        }


def _answer(reply: ChatReply[ReportReply] | ReplyError, made: Context) -> Answer:
    if isinstance(reply, ReplyError):
        return reply
    if reply.value is None:
        return ReplyError("The model did not return a report.", code="reply_invalid")
    parsed = replies.parse(reply.value, made)
    if not parsed.is_grounded:
        return ReplyError(
            "Nothing in the model's report was supported by what is known of the topic.",
            code="report_unreferenced",
        )
    return parsed


def _cited(
    report: ParsedReport, found: Mapping[UUID, list[evidence.EvidenceSpan]]
) -> list[CitedText]:
    return [
        CitedText(
            one.part.value,
            one.text,
            one.explanation,
            # A passage is no record of the graph: it is cited by its sentences.
            [
                record.as_json()
                for record in one.references
                if record.kind is not context.Kind.PASSAGE
            ],
            [
                (span.chunk, span.start, span.end)
                for span in evidence.best(f"{one.text} {one.explanation}", one.references, found)
            ],
        )
        for one in report.texts
    ]
