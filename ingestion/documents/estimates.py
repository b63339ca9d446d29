"""Estimates of what documents will cost, from the workspace's own settings, prices and history.

``sentences`` describes one in words, the same on the page, in the API and on the command line.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, LiteralString

from django.conf import settings

from ingestion.documents import cost_model
from ingestion.documents.cost_model import (
    NOTHING,
    Conditions,
    Estimate,
    Extent,
    Habit,
    History,
    Price,
    Range,
)
from ingestion.extractors.model import ChunkText, extract_prompt
from ingestion.models import Document
from ingestion.parsers.formats import format_of
from kb_project.llm.ports import ChatModel, ModelOptions, Role
from kb_project.llm.tokens import count_tokens
from kb_project.ports import Ports
from kb_project.sql import run_sql
from kb_project.text.regions import FURNITURE, from_json, is_furniture
from kb_project.text.words import counted as count_of
from workspaces import access
from workspaces.models import ModelPrice, ModelSettings, Workspace
from workspaces.ports import ports_for
from workspaces.usage import queries as usage_queries
from workspaces.usage.queries import WRITE_SURCHARGE, UsageLine, is_write_charged, money

USUAL_CONCURRENCY: Final = 8
WITH_SCHEMA: Final = 1.2
MINUTE: Final = 60
HOUR: Final = 3_600
MILLION: Final = 1_000_000

# The workspace's own calls by stage, for predicting future ones: how many, their tokens, how many
# passages they were about, their seconds, and how many took any.
EXPERIENCE: Final[LiteralString] = """
SELECT stage, count(*), sum(prompt_tokens), sum(completion_tokens), count(DISTINCT chunk_id),
       sum(seconds), count(*) FILTER (WHERE seconds > 0)
  FROM workspaces_modelcall
 WHERE workspace_id = %(workspace)s AND state = 'done' AND question_id IS NULL
 GROUP BY stage
"""

# Passages that may be furniture alone: at least half of their text is.
FURNITURE_PASSAGES: Final[LiteralString] = """
SELECT c.id, c.text, c.regions
  FROM ingestion_chunk AS c
 WHERE c.workspace_id = %(workspace)s AND c.document_id = ANY(%(documents)s::uuid[])
   AND length(c.text) <= 2 * (
       SELECT sum((region ->> 2)::int - (region ->> 1)::int)
         FROM jsonb_array_elements(c.regions) AS region
        WHERE region ->> 0 = ANY(%(kinds)s::text[]))
"""

# How much of each document there is to read, and how many of its calls the current model has
# already answered. No model is asked about the %(furniture)s. With %(method)s set, a passage that
# the same model read by another method counts as unanswered: its prompt has changed.
EXTENTS: Final[LiteralString] = """
WITH answered AS MATERIALIZED (
    SELECT DISTINCT chunk_id, stage FROM workspaces_modelcall
     WHERE workspace_id = %(workspace)s AND document_id = ANY(%(documents)s::uuid[])
       AND state IN ('done', 'cached')
       AND ((stage = 'extract' AND model = %(extracts)s)
            OR (stage = 'situate' AND model = %(situates)s))
)
SELECT c.document_id, coalesce(sum(c.tokens) FILTER (WHERE asked), 0),
       count(*) FILTER (WHERE asked),
       count(e.chunk_id) FILTER (
           WHERE x.method IS NULL OR x.method = %(method)s::text
                 OR NOT starts_with(x.method, %(reader)s::text)),
       count(s.chunk_id)
  FROM ingestion_chunk AS c
 CROSS JOIN LATERAL (SELECT c.id <> ALL(%(furniture)s::uuid[]) AS asked) AS whether
  LEFT JOIN answered AS e ON e.chunk_id = c.id AND e.stage = 'extract'
  LEFT JOIN ingestion_chunkextraction AS x ON %(method)s::text <> ''
       AND x.workspace_id = %(workspace)s AND x.chunk_id = c.id
  LEFT JOIN answered AS s ON s.chunk_id = c.id AND s.stage = 'situate'
 WHERE c.workspace_id = %(workspace)s AND c.document_id = ANY(%(documents)s::uuid[])
 GROUP BY c.document_id
"""


@dataclass(frozen=True, slots=True)
class FileSize:
    """A file that has not been uploaded yet; ``extent`` is known if it could be read."""

    name: str
    size: int
    extent: Extent | None = None


def estimate_for_files(*, workspace: Workspace, files: Sequence[FileSize]) -> Estimate:
    """Estimate the cost of adding these files: of those not read yet, from names and sizes."""
    ports = ports_for(workspace.pk)
    with access.in_workspace(workspace.pk):
        conditions, left = _conditions(workspace, ports), _left(workspace)
    rules = conditions or _without_model()
    extents = [file.extent or extent_of_file(file.name, file.size, rules) for file in files]
    return cost_model.estimate(extents, conditions, left=left)


def estimate_for_documents(*, workspace: Workspace, document_ids: Sequence[uuid.UUID]) -> Estimate:
    """Estimate the cost of reading these documents, from their passages once they are split.

    Ids of documents that are not in the workspace are ignored.
    """
    ports = ports_for(workspace.pk)
    with access.in_workspace(workspace.pk):
        conditions, left = _conditions(workspace, ports), _left(workspace)
        documents = list(Document.objects.in_workspace(workspace).filter(pk__in=document_ids))
        cut = _cut_extents(workspace, [document.pk for document in documents], ports.chat)
    rules = conditions or _without_model()
    extents = [
        cut.get(document.pk) or extent_of_file(document.name, document.size, rules)
        for document in documents
    ]
    return cost_model.estimate(extents, conditions, left=left)


def estimate_for_reading_again(
    *, workspace: Workspace, documents: Mapping[uuid.UUID, bool], method: str
) -> Estimate:
    """Estimate the cost of reading documents by this method.

    ``documents`` says of each whether its passages are situated again.
    """
    ports = ports_for(workspace.pk)
    with access.in_workspace(workspace.pk):
        conditions, left = _conditions(workspace, ports), _left(workspace)
        cut = _cut_extents(workspace, list(documents), ports.chat, method)
    extents = [
        replace(extent, is_situated=not documents[document]) for document, extent in cut.items()
    ]
    return cost_model.estimate(extents, conditions, left=left)


def _conditions(workspace: Workspace, ports: Ports) -> Conditions | None:
    chat = ports.chat
    if chat is None:
        return None
    row = ModelSettings.objects.in_workspace(workspace).first()
    return Conditions(
        gleanings=row.gleanings if row else 1,
        chunk_tokens=settings.CHUNK_TOKENS,
        chunk_overlap=settings.CHUNK_OVERLAP,
        input_limit=chat.input_limit(Role.SITUATE),
        concurrency=row.concurrency if row else USUAL_CONCURRENCY,
        prices=_prices(workspace, chat),
        history=_history(workspace),
        local_extraction=row is not None and row.local_extraction,
        instructions=_instructions(ports.options),
    )


def _instructions(options: ModelOptions) -> Range:
    """Tokens around a passage; some servers count the answer's schema too."""
    nothing = ChunkText(uuid.UUID(int=0), uuid.UUID(int=0), "")
    prompt = extract_prompt(nothing, options)
    tokens = count_tokens(prompt.system) + count_tokens(prompt.user)
    return Range(tokens, tokens * WITH_SCHEMA)


def _without_model() -> Conditions:
    """Return the conditions for counting passages, which need no model."""
    return Conditions(0, settings.CHUNK_TOKENS, settings.CHUNK_OVERLAP, 0, 1)


def _prices(workspace: Workspace, chat: ChatModel) -> Mapping[str, Price | None]:
    rows = {row.model: row for row in ModelPrice.objects.in_workspace(workspace)}
    named = {str(role): rows.get(chat.model_of(role)) for role in Role}
    return {role: _price(row) if row else None for role, row in named.items()}


def _price(row: ModelPrice) -> Price:
    surcharge = row.prompt * WRITE_SURCHARGE if is_write_charged(row.model) else 0
    return Price(
        float(row.prompt), float(row.cached_prompt), float(row.completion), float(surcharge)
    )


def _history(workspace: Workspace) -> History:
    rows = run_sql(EXPERIENCE, {"workspace": workspace.pk})
    stages = {name: Habit(*figures) for name, *figures, _, _ in rows}
    extraction = stages.get("extract")
    if extraction is None or extraction.calls < cost_model.LEAST_HISTORY:
        return History()
    others = sum(one.tokens for name, one in stages.items() if name not in cost_model.READING)
    seconds, timed = sum(float(row[-2]) for row in rows), sum(row[-1] for row in rows)
    return History(
        answer=extraction.completion / max(1, extraction.passages),
        seconds=seconds / timed if timed else None,
        share=others / extraction.tokens if others and extraction.tokens else None,
        stages=stages,
    )


def _left(workspace: Workspace) -> float | None:
    left = usage_queries.spending_of(workspace=workspace).left
    return None if left is None else float(left)


def _cut_extents(
    workspace: Workspace, ids: Sequence[uuid.UUID], chat: ChatModel | None, method: str = ""
) -> dict[uuid.UUID, Extent]:
    values = {
        "workspace": workspace.pk,
        "documents": list(ids),
        "extracts": chat.model_of(Role.EXTRACT) if chat else "",
        "method": method,
        "reader": method.rpartition("/")[0] + "/",
        "situates": chat.model_of(Role.SITUATE) if chat else "",
        "kinds": list(FURNITURE),
    }
    values["furniture"] = [
        chunk
        for chunk, text, regions in run_sql(FURNITURE_PASSAGES, values)
        if is_furniture(text, from_json(json.loads(regions)))
    ]
    return {
        document: Extent(Range(tokens, tokens), Range(passages, passages), extracted, situated)
        for document, tokens, passages, extracted, situated in run_sql(EXTENTS, values)
    }


def sentences(estimate: Estimate) -> list[str]:
    """Describe the cost, the work, what is already known, and whether the budget suffices."""
    if not estimate.uses_model:
        return ["Costs nothing: no model is called."]
    if estimate.is_free:
        return ["Costs nothing: every answer is in the cache."]
    price = f"Cost: {cost(estimate)}."
    if estimate.cost is None:
        price = "The cost is unknown: no price is set for the model."
    passages = counted(estimate.passages, "passage")
    tokens = counted(estimate.prompt_tokens + estimate.completion_tokens, "token")
    work = (
        f"To read: {passages}, with {counted(estimate.calls, 'call')} to the model and"
        f" {tokens}, in {duration(estimate.seconds)}."
    )
    is_one = estimate.known == 1
    known = (
        f"{estimate.known:,} {'answer is' if is_one else 'answers are'} already known and"
        f" cost{'s' * is_one} nothing."
    )
    pausing = (
        "Work pauses when it is spent, keeps everything done, and continues when the budget is"
        " raised."
    )
    return [price, work, *([known] if estimate.known else []), *budget_left(estimate, pausing)]


def spent(usage: UsageLine, *, what: str) -> list[str]:
    """Describe the calls made and their cost, for a document or a whole run.

    >>> spent(UsageLine("", calls=3, cached=3), what="It")
    ['No new calls: every answer was in the cache.']
    """
    asked = usage.calls - usage.cached
    if not asked:
        return ["No new calls: every answer was in the cache."]
    cost = f", at a cost of {money(float(usage.cost))}" if usage.cost else ""
    tokens = f"{usage.tokens:,} tokens"
    sentences = [f"{what} took {count_of(asked, 'call')} and {tokens}{cost}."]
    if usage.cached:
        sentences.append(
            f"{usage.cached:,} of {usage.calls:,} answers came from the cache and cost nothing."
        )
    if usage.failed:
        sentences.append(f"{usage.failed:,} of them failed.")
    return sentences


def counted(range_: Range, noun: str) -> str:
    """
    >>> counted(Range(1, 1), "call"), counted(Range(1200, 3480), "call")
    ('1 call', '1,200 to 3,500 calls')
    >>> counted(Range(960_000, 14_900_000), "token")
    '0.96 to 15 million tokens'
    """
    low, high = _round(range_.low), _round(range_.high)
    if high >= MILLION:
        return f"{_millions(low)} to {_millions(high)} million {noun}s"
    number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{number} {noun}{'' if high == 1 else 's'}"


def _millions(number: float) -> str:
    """
    >>> _millions(40_000), _millions(960_000), _millions(4_940_000), _millions(1_234_000_000)
    ('0.04', '0.96', '4.9', '1,234')
    """
    found = number / MILLION
    digits = 2 if found < 1 else 1 if found < 10 else 0
    return f"{found:,.{digits}f}"


def duration(range_: Range) -> str:
    """
    >>> duration(Range(20, 200)), duration(Range(1, 30)), duration(Range(4000, 9000))
    ('up to 4 minutes', 'less than a minute', '67 to 150 minutes')
    """
    if range_.high < MINUTE:
        return "less than a minute"
    unit, name = (MINUTE, "minute") if range_.high < 4 * HOUR else (HOUR, "hour")
    low, high = round(range_.low / unit), -(-range_.high // unit)
    if low < 1:
        return f"up to {high:,.0f} {name}{'' if high == 1 else 's'}"
    return f"{low:,} to {high:,.0f} {name}s" if low < high else f"{low:,} {name}{'s' * (low > 1)}"


def cost(estimate: Estimate) -> str:
    """Format the cost; '' where no price is set."""
    if estimate.cost is None:
        return ""
    low, high = money(estimate.cost.low), money(estimate.cost.high)
    return low if low == high else f"{low} to {high}"


def budget_left(estimate: Estimate, pausing: str) -> list[str]:
    """Say what is left of a budget; if that may not be enough, with what happens then."""
    if estimate.left is None:
        return []
    left = f"{money(estimate.left)} of the budget is left"
    if not estimate.is_short:
        return [f"{left}."]
    will = "will not" if estimate.is_surely_short else "may not"
    return [f"{left}, which {will} be enough. {pausing}"]


def _round(number: float) -> int:
    """Round to two significant digits, the precision of an estimate; numbers below 100 are exact.

    >>> _round(87), _round(1234), _round(98_765)
    (87, 1200, 99000)
    """
    whole = round(number)
    digits = len(str(whole)) - 2
    return whole if whole < 100 else round(whole, -digits)


# --- what a file holds, by its name and size ------------------------------------------------------
# By what takes most of the bytes.
TOKENS_PER_BYTE: Final[Mapping[str, Range]] = {
    # English has 4 to 5 bytes per token; Chinese has 3 bytes per character, about one token each.
    "text": Range(0.2, 0.4),
    # Tags, scripts and navigation are dropped.
    "html": Range(0.03, 0.3),
    # Zip archives: text shrinks to a third, pictures keep their size.
    "zip": Range(0.02, 1.0),
    # Text is deflated; fonts and pictures weigh more than words.
    "pdf": Range(0.002, 0.25),
    # Attachments, which are not read, weigh more than words.
    "mail": Range(0.005, 0.4),
    # Cells become "column: value" sentences.
    "table": Range(0.3, 1.5),
}
FILL: Final = Range(0.85, 1.0)
"""Share of the size limit that a passage fills: it ends at a sentence or section end."""


def extent_of_file(name: str, size: int, conditions: Conditions) -> Extent:
    """Estimate what a file of this name and size in bytes holds."""
    promised = format_of(name)
    tokens = TOKENS_PER_BYTE[promised.bulk if promised else "text"] * max(0, size)
    passages = Range(
        passages_of(tokens.low, conditions, FILL.high),
        passages_of(tokens.high, conditions, FILL.low),
    )
    return Extent(tokens, passages if size else NOTHING)


def passages_of(tokens: float, conditions: Conditions, fill: float) -> int:
    """
    >>> passages_of(1600, Conditions(1, 800, 0, 16_000, 8), 1.0)
    2
    """
    step = conditions.chunk_tokens * fill - conditions.chunk_overlap
    rest = tokens - conditions.chunk_tokens * fill
    return 1 + max(0, math.ceil(rest / max(1.0, step)))
