"""The *Test* button: one real call of each kind, to detect what the endpoint supports."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import BaseModel

from kb_project.errors import ModelError, PauseError, ReplyError
from kb_project.llm.call import Exchange, PreparedCall, is_thought, messages_of
from kb_project.llm.capabilities import Capabilities, Feature, Support
from kb_project.llm.config import ChatConfig
from kb_project.llm.embedders import EndpointEmbedder, InstallationEmbedder
from kb_project.llm.http import MODELS, Connection
from kb_project.llm.openai_client import OpenAiProvider
from kb_project.llm.policy import Retry, RetryPolicy
from kb_project.llm.ports import About, CallRecord, ChatRequest, Role
from kb_project.llm.provider import RawReply, UnsupportedError
from kb_project.llm.structured import parse
from kb_project.prompt import Prompt

DEADLINE: Final = 30.0
LONGEST_CALL: Final = 12.0
MOST_MODELS: Final = 500
_TOKENS: Final = 2_000
"""Most use ten; a model that reasons first needs room for it."""
_THINKING: Final = "Cut off while the model was reasoning: it is used, and given up if refused."
_QUESTION: Final = "Which colour does the sky have on a clear day?"


class Colour(BaseModel):
    """The answer's schema in the test."""

    colour: str


@dataclass(frozen=True, slots=True)
class Check:
    """``name`` is models, chat, json, schema, stream or embeddings; ``sentence`` is for people."""

    name: str
    ok: bool
    sentence: str
    milliseconds: int


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """``models`` are the names the endpoint lists; ``dimension`` is 0 without an embedding."""

    checks: tuple[Check, ...]
    support: Support
    models: tuple[str, ...] = ()
    dimension: int = 0

    @property
    def ok(self) -> bool:
        """Whether the endpoint is usable: it answers a plain question."""
        return any(check.ok for check in self.checks if check.name == "chat")


def probe(
    config: ChatConfig, *, embedding_model: str = "", deadline: float = DEADLINE
) -> ProbeResult:
    """Test an endpoint. Never raises: every failure is a check. Costs a few hundred tokens."""
    test = _Probe(config, embedding_model, time.monotonic() + deadline)
    test.check("models", test.list_models)
    # A server may not list its models: try the other calls anyway.
    test.stopped = ""
    test.check("chat", test.answer)
    test.check("json", test.answer_json)
    test.check("schema", test.answer_schema)
    test.check("stream", test.stream)
    if embedding_model:
        test.stopped = ""
        test.check("embeddings", test.embed)
    return ProbeResult(tuple(test.checks), test.support, test.models, test.dimension)


@dataclass(slots=True)
class _Probe:
    config: ChatConfig
    embedding_model: str
    deadline: float
    support: Support = field(default_factory=Support)
    models: tuple[str, ...] = ()
    dimension: int = 0
    stopped: str = ""
    checks: list[Check] = field(default_factory=list)

    def check(self, name: str, make: Callable[[], str]) -> None:
        started = time.monotonic()
        ok, sentence = self._made(make)
        # An endpoint that is down does not lack features.
        if not (ok or self.stopped) and name in ("json", "schema", "stream"):
            self.support = self.support.without(Feature(name))
        taken = int((time.monotonic() - started) * 1000)
        self.checks.append(Check(name, ok, sentence, taken))

    def _made(self, make: Callable[[], str]) -> tuple[bool, str]:
        if self.stopped or self._left() <= 0:
            return False, self.stopped or "Not tried: the other calls used up the time."
        try:
            return True, make()
        except UnsupportedError:
            return False, "The server says it does not support this."
        except PauseError as error:
            self.stopped = f"Not tried: {error.happened}"
            return False, error.sentence
        except ModelError as error:
            return False, error.sentence

    def list_models(self) -> str:
        config = self.config
        connection = Connection(config.endpoint, config.key, is_operators=config.is_operators)
        found = connection.ask(MODELS, None, self._left(), used=Support())
        data = found.get("data")
        listed = data if isinstance(data, list) else []
        names = [str(item.get("id", ""))[:120] for item in listed if isinstance(item, dict)]
        self.models = tuple(sorted(filter(None, names))[:MOST_MODELS])
        return f"{len(self.models)} models are listed."

    def answer(self) -> str:
        """Make the first chat call, which also detects the parameters the server accepts."""
        exchange = Exchange(
            self._provider(),
            retry=Retry(RetryPolicy(attempts=1)),
            capabilities=Capabilities(self.support),
        )
        verdict = exchange.make(self._asked())
        self.support = exchange.support
        # A short limit suffices to see that the model answers.
        if isinstance(verdict.result, ReplyError) and verdict.result.code == "reply_truncated":
            return "The model answers."
        if isinstance(verdict.result, ModelError):
            raise verdict.result
        return f"The model answers; the call took {verdict.outcome.completion_tokens} tokens."

    def answer_json(self) -> str:
        reply = self._formed(replace(self.support, schema=False, json=True))
        return _THINKING if is_thought(reply) else "Answers are JSON when requested."

    def answer_schema(self) -> str:
        reply = self._formed(replace(self.support, schema=True))
        return _THINKING if is_thought(reply) else "Answers follow a JSON schema."

    def _formed(self, support: Support) -> RawReply:
        exchange = Exchange(self._provider(), capabilities=Capabilities(support))
        call = exchange.shaped(self._asked(Colour))
        reply = exchange.provider.complete(call)
        if not is_thought(reply) and parse(reply.text, Colour).value is None:
            raise ReplyError("The answer does not have the requested format.")
        return reply

    def stream(self) -> str:
        call = Exchange(self._provider(), capabilities=Capabilities(self.support)).shaped(
            self._asked()
        )
        pieces = list(self._provider().stream(call))
        if pieces and isinstance(pieces[-1], RawReply) and is_thought(pieces[-1]):
            return _THINKING
        if len(pieces) < 2 or not isinstance(pieces[-1], RawReply):
            raise ReplyError(
                "The stream ended before the answer was complete.", code="reply_truncated"
            )
        return f"The answer came in {len(pieces) - 1} pieces."

    def embed(self) -> str:
        options: dict[str, Any] = {
            "endpoint": self.config.endpoint,
            "key": self.config.key,
            "model": self.embedding_model,
            "timeout": self._left(),
            "retry": Retry(RetryPolicy(attempts=1)),
        }
        if self.config.is_operators:
            self.dimension = InstallationEmbedder(store=None, **options).dimension
        else:
            self.dimension = EndpointEmbedder(**options).dimension
        return f"Vectors have {self.dimension} numbers."

    def _provider(self) -> OpenAiProvider:
        config = self.config
        return OpenAiProvider(config.endpoint, config.key, is_operators=config.is_operators)

    def _asked(self, schema: type[BaseModel] | None = None) -> PreparedCall:
        prompt = Prompt("probe", "1", "You answer in one word.", _QUESTION)
        request = ChatRequest(Role.ANSWER, prompt, About("test"), schema)
        model = self.config.model_of(Role.ANSWER)
        room = self.config.max_output(Role.ANSWER, _TOKENS)
        record = CallRecord("", request.role, "test", prompt.name, prompt.version, model, 0, room)
        parameters = self.config.parameters.get(Role.ANSWER, {})
        timeout = max(0.1, self._left())
        return PreparedCall(request, record, messages_of(request), timeout, parameters=parameters)

    def _left(self) -> float:
        return min(LONGEST_CALL, self.deadline - time.monotonic())
