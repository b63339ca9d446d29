"""The ports to models: embedders and chat models."""

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
    in tokens; 0 means the role's limit.
    """

    role: Role
    prompt: Prompt
    about: About
    schema: type[SchemaT] | None = None
    turns: tuple[Turn, ...] = ()
    max_output: int = 0


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

    Empty ``entity_types`` mean any type. ``domain``, ``language`` and ``examples`` (worked
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
