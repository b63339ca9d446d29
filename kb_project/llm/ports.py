"""What the project asks of models, in its own words."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from kb_project.errors import ReplyError
from kb_project.prompt import Prompt

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their likeness.

    Every vector has length one, so a dot product is a cosine.
    """

    @property
    def fingerprint(self) -> str:
        """Model, dimension and roles. Vectors of two fingerprints are never compared."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape ``(len(texts), dimension)``, in the order of ``texts``."""

    def embed_question(self, text: str) -> Vectors:
        """Shape ``(dimension,)``."""


class Role(StrEnum):
    """What a chat model is asked to do; each role may have a model of its own."""

    EXTRACT = "extract"
    SUMMARISE = "summarise"
    SITUATE = "situate"
    KEYWORD = "keyword"
    ANSWER = "answer"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class About:
    """What a call is made for, as the ledger shows it."""

    stage: str
    document_id: uuid.UUID | None = None
    chunk_id: uuid.UUID | None = None
    question_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said before in the same conversation; ``speaker`` is "assistant" or "user".

    ``tokens`` are those the server counted when it was said; 0 has them counted here.
    """

    speaker: str
    text: str
    tokens: int = 0


SchemaT = TypeVar("SchemaT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ChatRequest(Generic[SchemaT]):
    """One call. With a ``schema``, the reply's ``value`` is an instance of it.

    ``turns`` follow the prompt's user part (gleaning goes on in the same conversation).
    ``max_output`` in tokens; 0 leaves it to the role's limit.
    """

    role: Role
    prompt: Prompt
    about: About
    schema: type[SchemaT] | None = None
    turns: tuple[Turn, ...] = ()
    max_output: int = 0


@dataclass(frozen=True, slots=True)
class ChatReply(Generic[SchemaT]):
    """A whole, valid answer. ``text`` is what the model said, ``value`` what the schema made of it.

    A reply from the cache costs nothing; its token counts are those of the call that was made.
    """

    text: str
    value: SchemaT | None
    prompt_tokens: int
    completion_tokens: int
    is_cached: bool


class ChatModel(Protocol):
    """A workspace's chat models: cached, counted, within the budget. Call outside transactions.

    Every method raises EndpointError, RefusedError or BudgetError where work must wait.
    """

    def model_of(self, role: Role) -> str:
        """The name of the role's model, as written into ``written_by``."""

    def input_limit(self, role: Role) -> int:
        """Tokens a prompt of the role may have, its answer's share of the window taken off."""

    def ask(self, request: ChatRequest[SchemaT]) -> ChatReply[SchemaT]:
        """Raises ReplyError where this call got no usable answer."""

    def ask_many(
        self, requests: Sequence[ChatRequest[SchemaT]]
    ) -> Iterator[tuple[int, ChatReply[SchemaT] | ReplyError]]:
        """Side by side, as many as the endpoint takes; each with its index, as it comes in.

        Every reply is kept in the cache before it is given out.
        """

    def stream(self, request: ChatRequest[SchemaT]) -> Iterator[str]:
        """The answer's text in pieces; raises ReplyError when it is cut off."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What a workspace wants of its chat model while documents come in and questions are answered.

    ``entity_types`` are free when empty. ``domain``, ``language`` and ``examples`` (worked
    extractions as text) were learned from a sample of the documents.
    """

    gleanings: int = 1
    wants_claims: bool = False
    allows_general: bool = False
    wants_judge: bool = True
    entity_types: tuple[str, ...] = ()
    domain: str = ""
    language: str = ""
    examples: tuple[str, ...] = ()
