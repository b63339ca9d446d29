"""The ports to models: embedders, rerankers and chat models, and the store of their calls."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from kb_project.errors import ReplyError
from kb_project.llm.capabilities import Support
from kb_project.prompt import Prompt

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    Every vector has length one, so a dot product is a cosine.
    """

    @property
    def fingerprint(self) -> str:
        """Model, dimension and roles. Vectors of two fingerprints are never compared."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return shape ``(len(texts), dimension)``, in the order of ``texts``."""

    def embed_question(self, text: str) -> Vectors:
        """Return shape ``(dimension,)``."""


@dataclass(frozen=True, slots=True)
class Told:
    """A statement with its document's title, its heading, and what stands before it."""

    title: str
    heading: str
    before: str
    said: str


class CrossEncoder(Protocol):
    """Reads a question and a statement together."""

    def scores(self, question: str, statements: Sequence[Told]) -> Vectors:
        """Return how well each statement answers, shape ``(len(statements),)``: above 0, rather
        yes. Raises UnavailableError if the model cannot be loaded."""


class Role(StrEnum):
    """A kind of task for a chat model; each role may have its own model."""

    EXTRACT = "extract"
    SUMMARISE = "summarise"
    SITUATE = "situate"
    KEYWORD = "keyword"
    ANSWER = "answer"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class About:
    """The purpose of a call, as the ledger shows it."""

    stage: str
    document_id: uuid.UUID | None = None
    chunk_id: uuid.UUID | None = None
    question_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier message of the same conversation; ``speaker`` is "assistant" or "user".

    ``tokens`` is the server's count for it; 0 has them counted here.
    """

    speaker: str
    text: str
    tokens: int = 0


SchemaT = TypeVar("SchemaT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ChatRequest(Generic[SchemaT]):
    """One call. With a ``schema``, the reply's ``value`` is an instance of it.

    ``turns`` follow the prompt's user part (gleaning continues the conversation). ``max_output`` is
    in tokens; 0 means the role's limit. ``shared`` says where, in characters of the user part,
    beginnings end that other requests have, too, the shortest first: the first request that has one
    goes ahead, so that the others find it in the provider's cache.
    """

    role: Role
    prompt: Prompt
    about: About
    schema: type[SchemaT] | None = None
    turns: tuple[Turn, ...] = ()
    max_output: int = 0
    wrong: Callable[[SchemaT], str] | None = None
    shared: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatReply(Generic[SchemaT]):
    """A complete, valid answer. ``text`` is the model's, ``value`` is parsed from it by the schema.

    A reply from the cache costs nothing; its token counts are those of the original call.
    """

    text: str
    value: SchemaT | None
    prompt_tokens: int
    completion_tokens: int
    is_cached: bool


class ChatModel(Protocol):
    """A workspace's chat models: cached, counted, within the budget. Call outside transactions.

    Every method raises EndpointError, RefusedError or BudgetError if work must wait.
    """

    def model_of(self, role: Role) -> str:
        """Return the name of the role's model, as written into ``written_by``."""

    def input_limit(self, role: Role) -> int:
        """Return the tokens a prompt of the role may have, less the answer's share of
        the window.
        """

    def ask(self, request: ChatRequest[SchemaT]) -> ChatReply[SchemaT]:
        """Make one call. Raises ReplyError if it got no usable answer."""

    def ask_many(
        self, requests: Sequence[ChatRequest[SchemaT]]
    ) -> Iterator[tuple[int, ChatReply[SchemaT] | ReplyError]]:
        """Make calls in parallel, as many as the endpoint takes; yields each with its index when
        done.

        Every reply is cached before it is yielded.
        """

    def stream(self, request: ChatRequest[SchemaT]) -> Iterator[str]:
        """Yield the answer's text in pieces; raises ReplyError if it is cut off."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A workspace's options for its chat model, in ingestion and in answering.

    With ``local_extraction``, passages are read without the model. Empty ``entity_types`` mean any
    type. ``domain``, ``language`` and ``examples`` (worked
    extractions as text) were learned from a sample of the documents, as were the expert who writes
    (``persona``), what makes a topic matter (``report_rating``) and the language of reports.
    ``instructions`` are those of the workspace for every answer.
    """

    gleanings: int = 1
    wants_claims: bool = False
    allows_general: bool = False
    wants_judge: bool = True
    local_extraction: bool = False
    entity_types: tuple[str, ...] = ()
    domain: str = ""
    language: str = ""
    examples: tuple[str, ...] = ()
    persona: str = ""
    report_rating: str = ""
    report_language: str = ""
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """``scores`` are in the order of the texts, higher is better; None for a text without one.

    Scores for different questions or by different models cannot be compared.
    """

    scores: tuple[float | None, ...]
    is_cached: bool = False

    def order(self) -> list[int]:
        """Return the texts' places, best first; those without a score last, in their old order.

        >>> Ranking((0.1, None, 0.9)).order()
        [2, 0, 1]
        """
        worst = -math.inf
        scores = [worst if score is None else score for score in self.scores]
        return sorted(range(len(scores)), key=lambda place: -scores[place])


class Reranker(Protocol):
    """Ranks texts by relevance to a question. Call outside transactions."""

    @property
    def name(self) -> str:
        """The model's name for display."""

    def rank(
        self, question: str, texts: Sequence[str], *, question_id: UUID | None = None
    ) -> Ranking:
        """Score how well each text answers the question; ``question_id`` is for the ledger.

        Raises ModelError if there is no ranking: an order is never made up.
        """


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A complete reply as the model gave it, with the token counts of the original call."""

    text: str
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call before it is made. ``key`` is the SHA-256 of everything that shapes the reply.

    It costs at most ``prompt_tokens_estimate`` and ``max_output`` tokens.
    """

    key: str
    role: Role
    stage: str
    prompt: str
    prompt_version: str
    model: str
    prompt_tokens_estimate: int
    max_output: int
    document_id: uuid.UUID | None = None
    chunk_id: uuid.UUID | None = None
    question_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended: with a ``reply`` to store, or with None and the error's ``code``.

    Tokens are as the provider reports them, even for an unusable reply. ``cached_tokens`` is the
    part of ``prompt_tokens`` that the provider had in its own cache, ``written_tokens`` the part
    that it took up into it.
    """

    reply: str | None
    code: str
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    written_tokens: int = 0


class CallStore(Protocol):
    """The store of one workspace. Called from the caller's thread only, outside transactions."""

    def find(self, keys: Sequence[str]) -> dict[str, StoredReply]:
        """Return the stored replies among ``keys``."""

    def open_calls(self, calls: Sequence[CallRecord]) -> list[uuid.UUID]:
        """Open calls, reserving their maximum cost; returns an id for each, in order.

        Raises BudgetError, and then nothing is written.
        """

    def settle(self, ids: Sequence[uuid.UUID], outcomes: Sequence[CallOutcome]) -> None:
        """Record, in one transaction, what the calls cost, and cache their replies."""

    def note_cached(self, calls: Sequence[CallRecord], replies: Sequence[StoredReply]) -> None:
        """Add ledger rows for calls answered from the cache."""

    def remember_support(self, support: Support) -> None:
        """Store what the endpoint was found to support."""
