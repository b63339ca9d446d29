"""Extraction by a chat model, limited to what the text supports.

Conversations in which a model reads passages, many in parallel, round by round: ``schema``
describes its answers, and ``facts`` keeps what the text supports.

Round 0 asks for everything a passage says; each further round (gleaning, after GraphRAG) asks in
the same conversation for what was missed, until a round adds nothing or the limit is reached. The
rounds of all passages run together, which keeps the endpoint busy.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final

from ingestion.extractors.model.facts import OTHER, Findings, known_type, read
from ingestion.extractors.model.schema import Answer, AnswerWithClaims
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatReply, ChatRequest, ModelOptions, Role, Turn
from kb_project.llm.tokens import count_tokens
from kb_project.prompt import Prompt, Template, fenced, load
from kb_project.text.regions import Region

STAGE: Final = "extract"
GLEANING_FAILED: Final = "gleaning_failed"
VERSION: Final = "model-3"
"""Change it if the same answers yield other facts."""
USUAL_TYPES: Final = "person, organization, place, event, work, product, concept"
MOST_GLEANINGS: Final = 5
# Most tokens that the marks between turns cost.
_TURN_TOKENS: Final = 16

_PROMPTS: Final = Path(__file__).parents[2] / "prompts"
_TEMPLATES: Final = (
    *("extract", "extract_claims", "glean"),
    *("extract_example_en", "extract_example_zh"),
)


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk to be read.

    ``start`` is its offset in the document's text, ``regions`` are its parts that are not prose.
    """

    chunk_id: uuid.UUID
    document_id: uuid.UUID
    text: str
    start: int = 0
    title: str = ""
    headings: tuple[str, ...] = ()
    language: str = ""
    regions: tuple[Region, ...] = ()


@dataclass(slots=True)
class _Conversation:
    """The conversation about one passage: prompts and answers so far, and what they yielded."""

    prompt: Prompt
    turns: tuple[Turn, ...] = ()
    answers: list[Answer] = field(default_factory=list)
    reading: Findings = field(default_factory=Findings)
    grew: bool = True


def extract_all(
    passages: Sequence[ChunkText], chat: ChatModel, options: ModelOptions, *, stage: str = STAGE
) -> Iterator[tuple[int, Findings | ReplyError | None]]:
    """Yield each passage's index and reading once its last round is in; None after earlier rounds.

    A passage whose first round fails has the error; if its gleaning fails, it keeps its reading.
    Raises PauseError.
    """
    talks = [_Conversation(extract_prompt(passage, options)) for passage in passages]
    open_talks = list(range(len(talks)))
    gleanings = min(options.gleanings, MOST_GLEANINGS)
    for number in range(1 + gleanings):
        requests = [_request(talks[i], passages[i], options, stage) for i in open_talks]
        going: set[int] = set()
        for place, reply in chat.ask_many(requests):
            index = open_talks[place]
            talk = talks[index]
            if isinstance(reply, ReplyError) and not number:
                yield index, reply
                continue
            _take_in(talk, reply, passages[index].text, options)
            if number < gleanings and _goes_on(talk, chat):
                going.add(index)
            yield index, None if index in going else talk.reading
        # In the order of the passages, regardless of the order of replies.
        open_talks = sorted(going)
        if not open_talks:
            return


def extract_prompt(passage: ChunkText, options: ModelOptions) -> Prompt:
    """The first round's prompt; all of a workspace's passages share its system part."""
    types = f"one word in lower case, such as {USUAL_TYPES}"
    if options.entity_types:
        types = f"one of {', '.join(options.entity_types)}; other where none fits"
    where = " > ".join(part for part in (passage.title, *passage.headings) if part)
    shown = options.examples or (worked_example(passage.language, options),)
    examples = "\n\n".join(fenced(example, "example") for example in shown)
    return _template("extract").fill(
        types=types,
        domain=f"The documents are about: {options.domain}" if options.domain else "",
        language=options.language or "the language of the passage",
        claims=_template("extract_claims").system if options.wants_claims else "",
        examples=f"Worked examples from other passages:\n{examples}",
        context=fenced(where or "(untitled)", "place"),
        passage=fenced(passage.text),
    )


def worked_example(language: str, options: ModelOptions) -> str:
    """The built-in example, shown until examples are learned: in Chinese for Chinese passages."""
    name = "zh" if language.startswith("zh") else "en"
    text, _, told = _template(f"extract_example_{name}").system.partition("\n\nAnswer: ")
    answer = json.loads(told)
    if not options.wants_claims:
        del answer["claims"]
    types = {known_type(one) for one in options.entity_types}
    for entity in answer["entities"]:
        if types and entity["type"] not in types:
            entity["type"] = OTHER
    told = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return f"{text}\n\nAnswer: {told}"


def method_of(chat: ChatModel, options: ModelOptions) -> str:
    """Name of everything that determines the findings: a new method reads every passage again.

    At most 80 characters: the model's name, for people, and a digest of the rest.
    """
    model = chat.model_of(Role.EXTRACT)
    prompts = [_template(name).version for name in _TEMPLATES]
    settings = [
        options.gleanings,
        options.wants_claims,
        list(options.entity_types),
        options.domain,
        options.language,
        list(options.examples),
    ]
    shaped = json.dumps([VERSION, model, prompts, settings], ensure_ascii=True)
    digest = blake2b(shaped.encode(), digest_size=8).hexdigest()
    return f"{VERSION}/{model[:48]}/{digest}"


def _template(name: str) -> Template:
    return load(_PROMPTS / f"{name}.md")


def _request(
    talk: _Conversation, passage: ChunkText, options: ModelOptions, stage: str
) -> ChatRequest[Answer]:
    about = About(stage, document_id=passage.document_id, chunk_id=passage.chunk_id)
    schema = AnswerWithClaims if options.wants_claims else Answer
    return ChatRequest(Role.EXTRACT, talk.prompt, about, schema=schema, turns=talk.turns)


def _take_in(
    talk: _Conversation, reply: ChatReply[Answer] | ReplyError, text: str, options: ModelOptions
) -> None:
    """Add an answer to the conversation's reading."""
    if isinstance(reply, ReplyError):
        rejected = talk.reading.rejected | {GLEANING_FAILED: 1}
        talk.reading, talk.grew = Findings(talk.reading.extraction, rejected), False
        return
    talk.grew = reply.value is not None and not reply.value.is_empty
    if reply.value is not None and talk.grew:
        talk.answers.append(reply.value)
        before = talk.reading.facts
        talk.reading = read(talk.answers, text, options.entity_types)
        talk.grew = talk.reading.facts > before
    talk.turns += (
        Turn("assistant", reply.text, reply.completion_tokens),
        Turn("user", _template("glean").user),
    )


def _goes_on(talk: _Conversation, chat: ChatModel) -> bool:
    """Whether another round may add something, and the conversation has room for it."""
    if not talk.grew:
        return False
    texts = [talk.prompt.system, talk.prompt.user, *(turn.text for turn in talk.turns)]
    room = chat.input_limit(Role.EXTRACT) - _TURN_TOKENS * len(texts)
    # No token is shorter than a byte, so most conversations need no counting.
    if sum(len(text.encode()) for text in texts) <= room:
        return True
    return sum(map(count_tokens, texts)) <= room
