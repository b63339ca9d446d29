"""Tune: learn from a sample of a workspace's documents how to extract from them.

In: at most fifteen chunks, those nearest to the centroid.  Out: what the documents are about, their
language, the entity types in them, worked extractions, who should write about them (a persona),
what makes a topic matter, and the language of reports, saved in the workspace's model settings.
Prompts of extraction, descriptions and reports use these from then on.
Safe to repeat: what was learned before is replaced, and the model's replies are cached. Types
chosen by a person are kept.
Source: GraphRAG's auto-tuning: k = 15 nearest to the centroid of at most 300 sampled chunks;
domain, language, persona, entity types, two worked examples of 2,000 tokens together, and the
description by which reports are rated.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from pydantic import BaseModel, BeforeValidator

from ingestion.extractors.extraction import NAME, Extraction
from ingestion.extractors.model import ChunkText, Findings, extract_all
from ingestion.extractors.model.facts import OTHER, known_type
from ingestion.extractors.model.schema import MOST_STRENGTH, listed, plain_text
from ingestion.models import Chunk, ChunkEmbedding, IngestionJob
from ingestion.stage import Progress, StageOutcome
from kb_project.errors import KBError, ReplyError, StageError
from kb_project.llm.ports import About, ChatModel, ChatRequest, ModelOptions, Role, SchemaT
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.ports import Ports
from kb_project.prompt import Prompt, fenced, load
from kb_project.text.sentences import sentence_spans
from workspaces import access
from workspaces.language_models.services import TUNABLE, tuning_save
from workspaces.models import ModelSettings, Workspace

STAGE: Final = "tune"
SAMPLE: Final = 15
SPREAD: Final = 300
MOST_TYPES: Final = 20
MOST_EXAMPLES: Final = 2
MOST_EXAMPLE_TOKENS: Final = 2_000
# Passages tried as examples: some turn out to have no facts.
TRIED: Final = 4
_PASSAGE_TOKENS: Final = 400
_EXAMPLE_PASSAGE_TOKENS: Final = 250
_PROMPT_TOKENS: Final = 800
# What a passage takes at least: a few words and its fence.
_LEAST_TOKENS: Final = 32
_FENCE_TOKENS: Final = 12
_STEPS: Final = 4
_PROMPTS: Final = Path(__file__).parents[1] / "prompts"


class SubjectReply(BaseModel):
    domain: Annotated[str, BeforeValidator(plain_text)]
    language: Annotated[str, BeforeValidator(plain_text)] = ""


class WritingReply(BaseModel):
    persona: Annotated[str, BeforeValidator(plain_text)] = ""
    rating: Annotated[str, BeforeValidator(plain_text)] = ""


class TypesReply(BaseModel):
    types: Annotated[list[str], BeforeValidator(listed)]


@dataclass(frozen=True, slots=True)
class Learned:
    """What tuning learned.

    ``examples`` are worked extractions as text; every quote in them occurs in its passage.
    """

    domain: str
    language: str
    types: list[str]
    examples: list[str]
    sampled: int
    persona: str = ""
    report_rating: str = ""
    report_language: str = ""


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    try:
        learned = _learned(job, ports, progress)
    except (ReplyError, StageError) as error:
        save_problem(job.workspace_id, error)
        raise
    save(job.workspace_id, learned)
    return StageOutcome(written=len(learned.types) + len(learned.examples))


def _learned(job: IngestionJob, ports: Ports, progress: Progress) -> Learned:
    if ports.chat is None:
        raise StageError(
            "There is no chat model to learn with.",
            code="no_model",
            next_step="Set one up, then try again.",
        )
    passages = sample(job.workspace_id, ports.embedder.fingerprint)
    if not passages:
        raise StageError(
            "There are no passages to learn from yet.",
            code="nothing_to_learn_from",
            next_step="Add documents, then try again.",
        )
    with access.in_workspace(job.workspace_id):
        settings = ModelSettings.objects.in_workspace(job.workspace_id).first()
    by_people = settings is not None and not _types_were_learned(settings)
    types = tuple(settings.entity_types) if settings and by_people else ()
    return learn(passages, ports.chat, replace(ports.options, entity_types=types), progress)


def _types_were_learned(settings: ModelSettings) -> bool:
    is_learned: bool = settings.entity_types == settings.tuning.get("types")
    return is_learned


# --- the sample -----------------------------------------------------------------------------------
def sample(workspace_id: uuid.UUID, fingerprint: str) -> list[ChunkText]:
    """At most fifteen chunks, the most typical first. The same ones until the chunks change."""
    with access.in_workspace(workspace_id):
        chunks = Chunk.objects.in_workspace(workspace_id)
        ids = list(chunks.order_by("document_id", "ordinal").values_list("pk", flat=True))
        spread = evenly(ids, SPREAD)
        rows = (
            ChunkEmbedding.objects.in_workspace(workspace_id)
            .filter(chunk_id__in=spread, fingerprint=fingerprint)
            .values_list("chunk_id", "vector")
        )
        vectors = {chunk_id: np.asarray(vector) for chunk_id, vector in rows}
        chosen = nearest_to_all(vectors) if len(vectors) == len(spread) else evenly(ids, SAMPLE)
        found = chunks.select_related("document").in_bulk(chosen)
    return [_passage(found[pk]) for pk in chosen if pk in found]


def evenly(ids: Sequence[uuid.UUID], most: int) -> list[uuid.UUID]:
    """Pick at most ``most`` ids, evenly spaced."""
    if len(ids) <= most:
        return list(ids)
    return [ids[place * len(ids) // most] for place in range(most)]


def nearest_to_all(vectors: dict[uuid.UUID, Any]) -> list[uuid.UUID]:
    """The fifteen ids nearest to the centroid by dot product, ties broken by id."""
    if not vectors:
        return []
    centroid = np.mean(list(vectors.values()), axis=0)
    near = {pk: float(vector @ centroid) for pk, vector in vectors.items()}
    return sorted(near, key=lambda pk: (-near[pk], pk))[:SAMPLE]


def _passage(chunk: Chunk) -> ChunkText:
    return ChunkText(
        chunk_id=chunk.pk,
        document_id=chunk.document_id,
        text=chunk.text,
        title=chunk.document.title,
        headings=tuple(chunk.heading_path),
    )


# --- asking the model -----------------------------------------------------------------------------
def learn(
    passages: Sequence[ChunkText], chat: ChatModel, options: ModelOptions, progress: Progress
) -> Learned:
    """Ask the model about the passages. Raises ReplyError, or StageError if it learned nothing."""
    shown = shown_passages(passages, chat.input_limit(Role.EXTRACT))
    subject = _ask(chat, _prompt("tune_subject", passages=shown), SubjectReply)
    domain = subject.domain[: TUNABLE["domain"]].strip()
    progress(1, _STEPS)
    prompt = _prompt("tune_types", domain=fenced(domain, "domain"), passages=shown)
    types = useful_types(_ask(chat, prompt, TypesReply).types)
    if not domain or not types:
        raise StageError(
            "The model learned nothing from the sample.",
            code="nothing_learned",
            kept="Nothing was changed.",
            next_step="Try again with another model, or enter the entity types yourself.",
        )
    progress(2, _STEPS)
    language = subject.language[: TUNABLE["language"]].strip()
    prompt = _prompt("tune_reports", domain=fenced(domain, "domain"), passages=shown)
    writing = _ask(chat, prompt, WritingReply)
    progress(3, _STEPS)
    # Examples must show the types a person chose, if there are any.
    wanted = options.entity_types or types
    plain = replace(
        options, gleanings=0, domain=domain, language=language, examples=(), entity_types=wanted
    )
    examples = worked_examples(passages, chat, plain)
    return Learned(
        domain,
        language,
        list(types),
        list(examples),
        len(passages),
        persona=writing.persona[: TUNABLE["persona"]].strip(),
        report_rating=writing.rating[: TUNABLE["report_rating"]].strip(),
        report_language=language,
    )


def shown_passages(passages: Sequence[ChunkText], limit: int) -> str:
    """The beginnings of the passages, cut so that they and the prompt fit within ``limit`` tokens.

    Where there is no room for a few words of each, the last ones are left out.
    """
    room = max(limit - _PROMPT_TOKENS, _LEAST_TOKENS)
    shown = passages[: room // _LEAST_TOKENS]
    tokens = min(_PASSAGE_TOKENS, room // len(shown) - _FENCE_TOKENS)
    return "\n\n".join(fenced(truncate_tokens(one.text, tokens)) for one in shown)


def useful_types(named: Sequence[str]) -> tuple[str, ...]:
    types = dict.fromkeys(known_type(one) for one in named)
    return tuple(one for one in types if one not in (OTHER, NAME))[:MOST_TYPES]


def _ask(chat: ChatModel, prompt: Prompt, schema: type[SchemaT]) -> SchemaT:
    reply = chat.ask(ChatRequest(Role.EXTRACT, prompt, About(STAGE), schema=schema))
    if reply.value is None:
        raise ReplyError("The model's answer is empty.", code="reply_empty")
    return reply.value


def _prompt(name: str, **values: str) -> Prompt:
    return load(_PROMPTS / f"{name}.md").fill(**values)


# --- worked examples ------------------------------------------------------------------------------
def worked_examples(
    passages: Sequence[ChunkText], chat: ChatModel, options: ModelOptions
) -> tuple[str, ...]:
    """Extractions of the most typical passages, as text."""
    tried = [replace(one, text=beginning(one.text)) for one in passages[:TRIED]]
    outcomes = extract_all(tried, chat, options, stage=STAGE)
    readings = {index: one for index, one in outcomes if isinstance(one, Findings)}
    examples: list[str] = []
    room = MOST_EXAMPLE_TOKENS
    for index in sorted(readings):
        found = readings[index].extraction
        text = example(tried[index].text, found)
        tokens = count_tokens(text)
        if len(examples) < MOST_EXAMPLES and is_instructive(found) and tokens <= room:
            examples.append(text)
            room -= tokens
    return tuple(examples)


def is_instructive(found: Extraction) -> bool:
    """Whether an extraction is instructive: at least two entities and a relationship."""
    return len({fragment.mention for fragment in found.fragments}) > 1 and bool(found.relations)


def beginning(text: str) -> str:
    """As many whole sentences from the start as an example may show."""
    head = truncate_tokens(text, _EXAMPLE_PASSAGE_TOKENS)
    if head == text:
        return text
    spans = sentence_spans(head)
    return head[: spans[-2][1]] if len(spans) > 1 else head


def example(text: str, found: Extraction) -> str:
    answer = {
        "entities": list(_entities(text, found)),
        "relationships": [
            {
                "source": _name(found, link.source),
                "target": _name(found, link.target),
                "description": link.description,
                "keywords": list(link.keywords),
                "strength": round(link.strength * MOST_STRENGTH),
                "quote": text[link.start : link.end],
            }
            for link in found.relations
        ],
    }
    if found.claims:
        answer["claims"] = list(_claims(text, found))
    return f"{text}\n\nAnswer: {json.dumps(answer, ensure_ascii=False)}"


def _entities(text: str, found: Extraction) -> Iterator[dict[str, str]]:
    for fragment in found.fragments:
        yield {
            "name": _name(found, fragment.mention),
            "type": found.mentions[fragment.mention].type,
            "description": fragment.text,
            "quote": text[fragment.start : fragment.end],
        }


def _claims(text: str, found: Extraction) -> Iterator[dict[str, str]]:
    for claim in found.claims:
        yield {
            "subject": _name(found, claim.subject),
            "object": "" if claim.object is None else _name(found, claim.object),
            "type": claim.type,
            "status": claim.status.upper(),
            "period_start": claim.period_start,
            "period_end": claim.period_end,
            "description": claim.description,
            "quote": text[claim.start : claim.end],
        }


def _name(found: Extraction, index: int) -> str:
    mention = found.mentions[index]
    return mention.name or mention.surface


# --- saving ---------------------------------------------------------------------------------------
def save(workspace_id: uuid.UUID, learned: Learned) -> None:
    """Replace what was learned before. Types chosen by a person are kept."""
    with access.in_workspace(workspace_id):
        settings = ModelSettings.objects.in_workspace(workspace_id).first()
        if settings is not None and _types_were_learned(settings):
            settings.entity_types = []
            settings.save(update_fields=["entity_types"])
        workspace = Workspace.objects.get(pk=workspace_id)
        tuning_save(workspace=workspace, tuning=asdict(learned))


def save_problem(workspace_id: uuid.UUID, error: KBError) -> None:
    """Record what went wrong, next to what was learned before."""
    with access.in_workspace(workspace_id):
        for row in ModelSettings.objects.in_workspace(workspace_id).select_for_update():
            row.tuning = {**row.tuning, "problem": error.problem()}
            row.save(update_fields=["tuning"])
