"""The choice of a reranker, and its validation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from kb_project.errors import InputError
from workspaces.language_models.choice import checked_endpoint, checked_key, checked_model
from workspaces.models import ModelSettings, RerankerKind

_ADDRESS_OF_RERANKING: Final = "/rerank"


@dataclass(frozen=True)
class RerankChoice:
    """An admin's choice. ``key``: None keeps the stored one, '' removes it.

    Endpoint and model are kept under another kind, for when it is chosen again.
    """

    kind: RerankerKind = RerankerKind.OFF
    endpoint: str = ""
    key: str | None = field(default=None, repr=False)
    model: str = ""


def rerank_choice_in(settings: ModelSettings | None) -> RerankChoice:
    """Return the present choice, never with the key."""
    if settings is None:
        return RerankChoice()
    return RerankChoice(
        kind=RerankerKind(settings.reranker),
        endpoint=settings.rerank_endpoint,
        model=settings.rerank_model,
    )


def checked_rerank_choice(choice: RerankChoice) -> RerankChoice:
    """Return the choice in its stored form. Raises InputError for an invalid one."""
    if choice.kind not in set(RerankerKind):
        raise _refused(
            f"'{str(choice.kind)[:40]}' is no reranker: there are {', '.join(RerankerKind)}.", ""
        )
    found = replace(
        choice,
        kind=RerankerKind(choice.kind),
        endpoint=checked_rerank_endpoint(choice.endpoint),
        key=None if choice.key is None else checked_key(choice.key),
        model=checked_model(choice.model),
    )
    if found.kind is RerankerKind.ENDPOINT and not (found.endpoint and found.model):
        raise _refused(
            "A reranking endpoint needs an address and a model.",
            "Enter both, or choose to rerank with the chat model.",
        )
    return found


def checked_rerank_endpoint(text: str) -> str:
    """
    >>> checked_rerank_endpoint("https://api.example.com/v2/rerank/")
    'https://api.example.com/v2'
    """
    return checked_endpoint(text.strip().rstrip("/").removesuffix(_ADDRESS_OF_RERANKING))


def _refused(happened: str, next_step: str) -> InputError:
    return InputError(happened, kept="Nothing was changed.", next_step=next_step)
