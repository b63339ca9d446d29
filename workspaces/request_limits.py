"""Limits on how often each person, token and address sends requests, by the kind of request.

A person's requests count for the person; those with a token count for the token and for all tokens
of its person together; those of strangers, wrong tokens among them, count for their address. Each
request takes one statement, before the view and its transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from kb_project.errors import LimitError
from kb_project.http.addresses import client_network
from kb_project.http.problems import is_for_api, refusal
from workspaces import limits
from workspaces.limits import Allowance, Rate
from workspaces.models import User
from workspaces.tokens.authentication import sign_in_of

logger = logging.getLogger(__name__)

SECONDS: Final = 60.0
TOKENS_OF_PERSON: Final = 3
"""All tokens of a person may together send so many times what one may."""
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
UNLIMITED: Final = frozenset({"healthz"})
# Views whose requests cost more than reading and writing do; of those marked POST, only that.
ASKING: Final = frozenset(
    {
        "retrieval:search",
        "POST retrieval:ask",
        "retrieval:question_again",
        "retrieval_api:search",
        "retrieval_api:ask",
        "retrieval_api:question_ask",
        "retrieval_api:question_again",
    }
)
UPLOADS: Final = frozenset(
    {
        "ingestion:document_estimate",
        "ingestion:document_upload",
        "ingestion:version_add",
        "ingestion:version_estimate",
        "ingestion_api:document_estimate",
        "POST ingestion_api:document_list",
        "POST ingestion_api:version_list",
        "ingestion_api:version_estimate",
        "ingestion:graph_export",
        "ingestion:graph_imports",
        "ingestion_api:graph_export",
        "POST ingestion_api:graph_import_list",
    }
)
MODEL_TESTS: Final = frozenset(
    {
        "workspaces:model_test",
        "workspaces:reranker_test",
        "workspaces:embedding_change",
        "workspaces_api:models_test",
        "workspaces_api:reranker_test",
        "PUT workspaces_api:embedding",
    }
)
KINDS: Final[Mapping[str, frozenset[str]]] = {
    "asking": ASKING,
    "uploads": UPLOADS,
    "model_tests": MODEL_TESTS,
}


class RateLimitMiddleware:
    """Answers 429 to requests beyond a limit, and tells programs how many are left."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        taken: tuple[str, Allowance] | None = getattr(request, "rate_limit", None)
        if taken is not None and (is_for_api(request) or not taken[1].is_allowed):
            for name, value in _headers(*taken).items():
                response[name] = value
        return response

    def process_view(
        self, request: HttpRequest, _view: object, _args: object, _kwargs: object
    ) -> HttpResponse | None:
        view = request.resolver_match.view_name if request.resolver_match else ""
        if view in UNLIMITED:
            return None
        kind, names = _counted(request, kind_of(view, request.method or ""))
        count = settings.RATES[kind]
        uses = {f"{kind} {name}": Rate(count * times, SECONDS) for name, times in names.items()}
        try:
            tightest = limits.take_each(uses)[0]
        except DatabaseError:
            # Better no limit than no answer.
            logger.warning("rate limit not counted", exc_info=True)
            return None
        request.rate_limit = (kind, tightest)  # type: ignore[attr-defined]  # kept for the headers
        return None if tightest.is_allowed else refusal(request, _too_many(tightest))


def kind_of(view: str, method: str) -> str:
    """
    >>> kind_of("retrieval:ask", "GET"), kind_of("retrieval:ask", "POST")
    ('reading', 'asking')
    """
    for kind, views in KINDS.items():
        if view in views or f"{method} {view}" in views:
            return kind
    return "reading" if method in SAFE else "writing"


def _counted(request: HttpRequest, kind: str) -> tuple[str, dict[str, int]]:
    """Return the kind, and for whom the request counts, with how many times the rate of each."""
    user: Any = sign_in_of(request).user if is_for_api(request) else None
    user = user or request.user
    if not isinstance(user, User) and not user.is_authenticated:
        return "anonymous", {f"address {client_network(request)}": 1}
    if user.token is None:
        return kind, {f"person {user.pk}": 1}
    return kind, {f"token {user.token.pk}": 1, f"tokens of {user.pk}": TOKENS_OF_PERSON}


def _too_many(allowance: Allowance) -> LimitError:
    wait = allowance.retry_after
    return LimitError(
        "Too many requests in a short time.",
        kept="Nothing was changed.",
        next_step=f"Wait {wait} second{'' if wait == 1 else 's'}, then try again.",
        retry_after=wait,
    )


def _headers(kind: str, allowance: Allowance) -> dict[str, str]:
    """Return the headers of the IETF's draft "RateLimit header fields for HTTP"."""
    return {
        "RateLimit-Policy": f'"{kind}";q={allowance.limit};w={SECONDS:.0f}',
        "RateLimit": f'"{kind}";r={allowance.remaining};t={allowance.reset_after}',
    }
