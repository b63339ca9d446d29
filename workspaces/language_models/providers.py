"""The providers that the settings offer to choose from: addresses, needs, models and prices.

Prices change, and are never used unless a person takes them over: each says when it was looked up,
and a model whose price was not found has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal

from workspaces.language_models.choice import origin

Purpose = Literal["chat", "embedding", "reranking"]
OTHER: Final = "other"


@dataclass(frozen=True, slots=True)
class ListPrice:
    """US dollars per million tokens; ``as_of`` is the month in which it was looked up."""

    prompt: Decimal
    cached_prompt: Decimal
    completion: Decimal
    as_of: str
    note: str = ""

    @property
    def amounts(self) -> str:
        return " / ".join(f"{one:f}" for one in (self.prompt, self.cached_prompt, self.completion))


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model to pick from. ``context_window`` is in tokens, 0 where it depends on the server."""

    name: str
    purpose: Purpose = "chat"
    context_window: int = 0
    price: ListPrice | None = None

    @property
    def window(self) -> str:
        return f"{self.context_window:,}" if self.context_window else ""


@dataclass(frozen=True, slots=True)
class Provider:
    """``is_private`` says that the address is on a private network, which the operator has to
    allow; ``needs`` is for people.
    """

    slug: str
    name: str
    endpoint: str
    needs: str
    needs_key: bool = True
    is_private: bool = False
    models: tuple[OfferedModel, ...] = ()

    @property
    def prices(self) -> dict[str, ListPrice]:
        return {model.name: model.price for model in self.models if model.price}


def _price(prompt: str, cached: str, completion: str, as_of: str, note: str = "") -> ListPrice:
    return ListPrice(Decimal(prompt), Decimal(cached), Decimal(completion), as_of, note)


PROVIDERS: Final = (
    Provider(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "A key of an account with credit. Requests of more than 272,000 tokens cost more.",
        models=(
            OfferedModel(
                "gpt-6-luna", "chat", 1_050_000, _price("0.10", "0.01", "0.50", "2026-09")
            ),
            OfferedModel("gpt-6-sol", "chat", 1_050_000, _price("2", "0.20", "10", "2026-09")),
            OfferedModel("text-embedding-3-small", "embedding", 8_191),
            OfferedModel("text-embedding-3-large", "embedding", 8_191),
        ),
    ),
    Provider(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        "A key. This is its OpenAI-compatible address; it has no embedding models.",
        models=(
            OfferedModel(
                "claude-haiku-5-5",
                "chat",
                1_000_000,
                _price("0.10", "0.01", "0.50", "2026-10", "up to 100,000 tokens a request"),
            ),
            OfferedModel(
                "claude-sonnet-5-5", "chat", 1_000_000, _price("2", "0.10", "10", "2026-10")
            ),
            OfferedModel(
                "claude-opus-5-5", "chat", 1_000_000, _price("4", "0.20", "20", "2026-10")
            ),
        ),
    ),
    Provider(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "A key. The free tier pauses work often; it continues automatically.",
        models=(
            OfferedModel(
                "gemini-3.5-flash-lite",
                "chat",
                1_048_576,
                _price("0.30", "0.03", "2.50", "2026-10"),
            ),
            OfferedModel(
                "gemini-3.8-flash",
                "chat",
                1_048_576,
                _price("0.75", "0.075", "3.75", "2026-10", "until 31 December 2026, then twice"),
            ),
            OfferedModel("gemini-embedding-001", "embedding", 2_048),
        ),
    ),
    Provider(
        "azure",
        "Azure",
        "https://NAME.openai.azure.com/openai/v1",
        "A key, your resource's name in place of NAME, and your deployment's name as the model. A"
        " deployment's classic address, with its ?api-version=…, works too.",
    ),
    Provider(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "A key.",
        models=(
            OfferedModel(
                "mistral-small-latest", "chat", 256_000, _price("0.15", "0.015", "0.60", "2026-09")
            ),
            OfferedModel(
                "mistral-medium-3.5", "chat", 256_000, _price("1.50", "1.50", "7.50", "2026-05")
            ),
            OfferedModel("mistral-embed", "embedding", 8_000),
        ),
    ),
    Provider(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "A key. The free tier pauses work often; it continues automatically. It has no embedding"
        " models.",
        models=(
            OfferedModel(
                "openai/gpt-oss-120b", "chat", 131_072, _price("0.15", "0.075", "0.60", "2026-05")
            ),
            OfferedModel("openai/gpt-oss-20b", "chat", 131_072),
        ),
    ),
    Provider(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "A key. Models are named with their maker. Prices depend on who serves the model.",
        models=(
            OfferedModel("openai/gpt-oss-120b", "chat", 131_072),
            OfferedModel("openai/gpt-oss-20b", "chat", 131_072),
        ),
    ),
    Provider("together", "Together", "https://api.together.xyz/v1", "A key."),
    Provider("xai", "xAI", "https://api.x.ai/v1", "A key."),
    Provider("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "A key."),
    Provider(
        "ollama",
        "Ollama",
        "http://localhost:11434/v1",
        "It reads 2,048 to 4,096 tokens unless you raise OLLAMA_CONTEXT_LENGTH. Set it to what"
        " Context window says.",
        needs_key=False,
        is_private=True,
        models=(
            OfferedModel("gpt-oss:20b"),
            OfferedModel("qwen3:8b"),
            OfferedModel("llama3.1:8b"),
            OfferedModel("bge-m3", "embedding", 8_192),
            OfferedModel("nomic-embed-text", "embedding"),
        ),
    ),
    Provider(
        "llamacpp",
        "llama.cpp",
        "http://localhost:8080/v1",
        "It serves the model it was started with, under any name. Start it with a context (-c) of"
        " at least 8,000 tokens for each call at once (-np). A reranker needs --reranking.",
        needs_key=False,
        is_private=True,
    ),
    Provider(
        "vllm",
        "vLLM",
        "http://localhost:8000/v1",
        "Start it with a context (--max-model-len) of at least 8,000 tokens. The model has the name"
        " that it was started with.",
        needs_key=False,
        is_private=True,
        models=(
            OfferedModel("openai/gpt-oss-20b"),
            OfferedModel("Qwen/Qwen3-8B"),
            OfferedModel("BAAI/bge-m3", "embedding", 8_192),
            OfferedModel("BAAI/bge-reranker-v2-m3", "reranking", 8_192),
        ),
    ),
    Provider(
        "lmstudio",
        "LM Studio",
        "http://localhost:1234/v1",
        "Load the model with a context of at least 8,000 tokens.",
        needs_key=False,
        is_private=True,
        models=(
            OfferedModel("openai/gpt-oss-20b"),
            OfferedModel("qwen/qwen3-8b"),
            OfferedModel("text-embedding-nomic-embed-text-v1.5", "embedding", 2_048),
        ),
    ),
    Provider(
        OTHER,
        "Other",
        "",
        "Any server with OpenAI-compatible addresses. Its own usually ends in /v1.",
        needs_key=False,
    ),
)
BY_SLUG: Final[Mapping[str, Provider]] = MappingProxyType({one.slug: one for one in PROVIDERS})


def provider_at(endpoint: str) -> Provider | None:
    """Return the provider that has this address's host and port.

    >>> provider_at("https://api.groq.com/openai/v1").name, provider_at("https://example.org/v1")
    ('Groq', None)
    >>> provider_at("https://harbour.openai.azure.com/openai/v1").name
    'Azure'
    """
    scheme, host, port = origin(endpoint)
    if host.endswith(".openai.azure.com"):
        return BY_SLUG["azure"]
    known = (one for one in PROVIDERS if one.endpoint)
    return next((one for one in known if origin(one.endpoint) == (scheme, host, port)), None)
