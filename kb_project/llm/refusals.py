"""What a refusal of a model's server means.

Providers say the same in many ways, and different things in the same words: *check your plan and
billing details* means no credit at one and *wait a minute* at another. So a refusal is read by its
HTTP status and the codes in its body first, and by its words only where those leave it open. The
messages are ours: what a server wrote may echo the text that was sent, or the key.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from kb_project import egress
from kb_project.errors import EndpointError, ModelError, RefusedError, ReplyError
from kb_project.llm.capabilities import Feature, Support
from kb_project.llm.provider import UnsupportedError

READ: Final = 4_000
"""Characters of a refusal's words that are examined."""
_DEEPEST: Final = 6
_CODES: Final = frozenset({"code", "type", "status", "reason", "error_type"})
_WORDS: Final = frozenset({"message", "error", "detail", "msg", "param", "raw"})
_WAIT: Final = re.compile(
    r"(?:try again|retry|wait)\D{0,20}?(?:(?P<minutes>\d+)m(?!s))?"
    r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s)",
    re.IGNORECASE,
)
_DELAY: Final = re.compile(r"\d+(?:\.\d+)?(?=s$)")

_NO_CREDIT: Final = re.compile(
    r"credit balance|(no|any|all available|out of|insufficient|more) credits|spending limit"
    r"|insufficient.?(quota|funds|balance)|billing hard limit",
    re.IGNORECASE,
)
_BAD_KEY: Final = re.compile(
    r"(api.?key|token|credentials).{0,20}(not valid|invalid|expired)"
    r"|(incorrect|invalid).{0,4}api.?key",
    re.IGNORECASE,
)
_TOO_LARGE: Final = re.compile(r"request too large", re.IGNORECASE)
_TOO_LONG: Final = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|n_ctx"
    r"|(prompt|input|request).{0,30}(too long|too large)|(token count|tokens).{0,40}exceeds?\b"
    r"|exceeds?.{0,40}context|too many (input )?tokens|reduce the length",
    re.IGNORECASE,
)
_BUSY: Final = re.compile(
    r"overloaded|capacity|\bbusy|loading model|model is (currently )?loading|high demand",
    re.IGNORECASE,
)
_NO_MODEL: Final = re.compile(
    r"model.{0,120}(not found|not exist|unknown|not available|not loaded|no access|not supported)"
    r"|not a valid model|(unknown|invalid|unrecognized|no such).{0,12}model"
    r"|access (to )?(the )?model|^model: ",
    re.IGNORECASE | re.DOTALL,
)
_NO_ACCESS: Final = re.compile(
    r"permission|country|region|location|territory|not allowed|not have access", re.IGNORECASE
)
_FILTERED: Final = re.compile(
    r"safety|content.?(filter|policy|management)|flagged|moderation", re.IGNORECASE
)
# In search order: the more specific word first.
_FEATURES: Final[Mapping[Feature, re.Pattern[str]]] = {
    Feature.CACHE_CONTROL: re.compile(
        r"cache.?control|content.{0,60}\b(must|should|expected).{0,20}string|valid string",
        re.IGNORECASE | re.DOTALL,
    ),
    Feature.SCHEMA: re.compile(r"response_?format|json_?schema|grammar|schema", re.IGNORECASE),
    Feature.JSON: re.compile(r"response_?format|json_?object|json.?mode", re.IGNORECASE),
    Feature.USAGE: re.compile(r"stream_options|include_usage", re.IGNORECASE),
    Feature.STREAM: re.compile(r"\bstream(ing)?\b", re.IGNORECASE),
    Feature.OLD_LIMIT: re.compile(r"max_tokens|max_completion_tokens", re.IGNORECASE),
    Feature.TEMPERATURE: re.compile(r"\btemperature\b", re.IGNORECASE),
    Feature.SEED: re.compile(r"\bseed\b", re.IGNORECASE),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal as read: ``codes`` in lower case, ``wait`` in seconds, 0 if it names none."""

    status: int
    codes: frozenset[str]
    words: str
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class _Rule:
    """Applies to the ``statuses``, all if there are none; and if there are ``codes`` or ``words``,
    only if the refusal has one of them."""

    means: Callable[[str, Refusal], ModelError]
    statuses: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    words: re.Pattern[str] | None = None

    def fits(self, refusal: Refusal) -> bool:
        if self.statuses and refusal.status not in self.statuses:
            return False
        if not self.codes and self.words is None:
            return True
        has_words = self.words is not None and self.words.search(refusal.words) is not None
        return has_words or not self.codes.isdisjoint(refusal.codes)


# --- the errors -----------------------------------------------------------------------------------
def key_refused(host: str) -> RefusedError:
    return _refused(
        f"{host} rejects the key.", "key_refused", "Enter a valid key on the Models page."
    )


def not_a_model(host: str) -> RefusedError:
    return _refused(
        f"{host} answers, but not like a model endpoint.",
        "endpoint_not_a_model",
        "Check the address on the Models page; it usually ends in /v1.",
    )


def context_too_long() -> ReplyError:
    return ReplyError(
        "The text is longer than the model can read.",
        code="context_too_long",
        next_step="Set the model's real context window, or make smaller chunks.",
    )


def down(host: str, how: str, retry_after: float = 0.0) -> EndpointError:
    return _wait(f"{host} {how}.", "endpoint_down", retry_after)


def timed_out(host: str) -> EndpointError:
    return _wait(f"{host} did not answer in time.", "endpoint_timeout")


def not_reached(host: str, retry_after: float = 0.0) -> EndpointError:
    """Say the same of every failure at a host that the operator does not list."""
    error = _wait(egress.not_reached(host), "endpoint_down", retry_after)
    error.next_step = (
        "Work on documents continues automatically when the endpoint answers. Otherwise, check the"
        " address on the Models page; your administrator can allow a private one."
    )
    return error


def _wait(happened: str, code: str, retry_after: float = 0.0) -> EndpointError:
    error = EndpointError(
        happened,
        code=code,
        kept="Everything done so far is kept.",
        next_step="Work on documents continues automatically when the endpoint answers again.",
    )
    error.retry_after = retry_after
    return error


def _refused(happened: str, code: str, next_step: str) -> RefusedError:
    kept = "Everything done so far is kept."
    return RefusedError(happened, code=code, kept=kept, next_step=next_step)


def _credit_spent(host: str, refusal: Refusal) -> ModelError:
    return _refused(
        f"{host} says that the account has no credit left.",
        "credit_spent",
        "Top up the account with the provider, then resume.",
    )


def _model_unknown(host: str, refusal: Refusal) -> ModelError:
    return _refused(
        f"{host} does not have the model.",
        "model_unknown",
        "Choose one of its models on the Models page.",
    )


def _access_refused(host: str, refusal: Refusal) -> ModelError:
    return _refused(
        f"{host} does not allow this call ({refusal.status}).",
        "access_refused",
        "Ask the provider whether the key may use this model from here.",
    )


def _busy(host: str, refusal: Refusal) -> ModelError:
    return _wait(f"{host} accepts no more calls at the moment.", "endpoint_busy", refusal.wait)


def _down(host: str, refusal: Refusal) -> ModelError:
    return down(host, f"answered with an error ({refusal.status})", refusal.wait)


def _filtered(host: str, refusal: Refusal) -> ModelError:
    return ReplyError("The model's provider rejects this text.", code="reply_refused")


def _rejected(host: str, refusal: Refusal) -> ModelError:
    return ReplyError(
        f"{host} rejected this request ({refusal.status}).",
        code="request_refused",
        next_step="Test the endpoint on the Models page.",
    )


def _too_long(host: str, refusal: Refusal) -> ModelError:
    return context_too_long()


# --- the rules ------------------------------------------------------------------------------------
_INVALID: Final = frozenset({400, 422})
# The first that fits decides, before it is asked which feature of the protocol is refused.
_BEFORE: Final = (
    _Rule(_credit_spent, frozenset({402})),
    _Rule(
        _credit_spent,
        codes=frozenset(
            "insufficient_quota billing_hard_limit_reached billing_not_active billing_error"
            " insufficient_credits insufficient_balance exceeded_current_quota_error".split()
        ),
    ),
    _Rule(_credit_spent, frozenset({400, 403, 429}), words=_NO_CREDIT),
    _Rule(_too_long, frozenset({429}), words=_TOO_LARGE),
    _Rule(_busy, frozenset({429, 498, 529})),
    _Rule(_too_long, frozenset({413})),
    _Rule(_too_long, codes=frozenset({"context_length_exceeded", "exceed_context_size_error"})),
    _Rule(_too_long, _INVALID | {500}, words=_TOO_LONG),
    _Rule(lambda host, _: timed_out(host), frozenset({408, 504, 524})),
    _Rule(
        _busy,
        frozenset({500, 502, 503}),
        codes=frozenset({"overloaded_error", "unavailable", "unavailable_error", "slow_down"}),
        words=_BUSY,
    ),
    _Rule(_down, frozenset(range(500, 600)) - {501}),
    _Rule(lambda host, _: key_refused(host), frozenset({401})),
    _Rule(
        lambda host, _: key_refused(host),
        _INVALID | {403},
        codes=frozenset({"invalid_api_key", "api_key_invalid", "authentication_error"}),
        words=_BAD_KEY,
    ),
    _Rule(_filtered, _INVALID | {403}, words=_FILTERED),
)
_AFTER: Final = (
    _Rule(
        _model_unknown,
        _INVALID | {403, 404},
        codes=frozenset({"model_not_found", "invalid_model", "deploymentnotfound"}),
        words=_NO_MODEL,
    ),
    _Rule(_access_refused, _INVALID | {403}, words=_NO_ACCESS),
    _Rule(lambda host, _: key_refused(host), frozenset({403})),
    _Rule(_rejected, _INVALID),
)


def from_status(
    status: int, answer: str, *, host: str, used: Support, retry_after: float = 0.0
) -> ModelError | UnsupportedError:
    """Return the error that a refusal with this HTTP status means.

    ``answer`` is the server's own text, ``used`` the features the refused call used, and
    ``retry_after`` what the headers ask for, in seconds.
    """
    if status == 403 and answer.lstrip().startswith("<"):  # a firewall's page
        return not_a_model(host)
    refusal = read(status, answer, retry_after)
    for rule in _BEFORE:
        if rule.fits(refusal):
            return rule.means(host, refusal)
    if feature := _refused_feature(refusal, used):
        return feature
    for rule in _AFTER:
        if rule.fits(refusal):
            return rule.means(host, refusal)
    return not_a_model(host)


def _refused_feature(refusal: Refusal, used: Support) -> UnsupportedError | None:
    if refusal.status not in _INVALID | {404}:
        return None
    if "json_validate_failed" in refusal.codes and (used.schema or used.json):
        # The model failed this once, not the server: only this call goes without the form.
        return UnsupportedError(Feature.SCHEMA if used.schema else Feature.JSON, is_lasting=False)
    for feature, pattern in _FEATURES.items():
        if used.has(feature) and pattern.search(refusal.words):
            return UnsupportedError(feature)
    return None


def read(status: int, answer: str, retry_after: float = 0.0) -> Refusal:
    """Read a refusal's codes and words, wherever the provider puts them.

    >>> found = read(429, '[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}]')
    >>> sorted(found.codes)
    ['429', 'resource_exhausted']
    """
    try:
        body = json.loads(answer)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict | list):
        words = answer[:READ]
        return Refusal(status, frozenset(), words, retry_after or _wait_in(words))
    found = list(_walk(body))
    codes = frozenset(text.lower() for name, text in found if name in _CODES)
    words = "\n".join(text for name, text in found if name in _WORDS)[:READ]
    delay = next((text for name, text in found if name == "retryDelay"), "")
    asked = _DELAY.match(delay)
    return Refusal(
        status, codes, words, retry_after or float(asked[0] if asked else _wait_in(words))
    )


def status_in(problem: Any) -> int:
    """Return the HTTP status that an error in a body of status 200 stands for.

    >>> status_in({"code": "429"}), status_in({"type": "overloaded_error"}), status_in("oops")
    (429, 529, 500)
    """
    codes = read(200, json.dumps(problem)).codes if isinstance(problem, dict) else frozenset()
    numbers = [int(code) for code in codes if code.isdigit() and 400 <= int(code) < 600]
    named = {
        "rate_limit_error": 429,
        "rate_limit_exceeded": 429,
        "overloaded_error": 529,
        "authentication_error": 401,
        "invalid_request_error": 400,
        "timeout_error": 504,
    }
    return next(iter([*numbers, *(named[code] for code in sorted(codes) if code in named)]), 500)


def seconds_of(wish: str) -> float:
    """Read a Retry-After header: seconds, or a date.

    >>> seconds_of("7"), seconds_of(""), seconds_of("Wed, 21 Oct 2015 07:28:00 GMT")
    (7.0, 0.0, 0.0)
    """
    try:
        return max(0.0, float(wish))
    except ValueError:
        pass
    try:
        until: datetime = parsedate_to_datetime(wish)
        return max(0.0, until.timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _wait_in(words: str) -> float:
    """
    >>> _wait_in("Please try again in 1m47.5s."), _wait_in("Please retry in 250ms"), _wait_in("No.")
    (107.5, 0.25, 0.0)
    """
    found = _WAIT.search(words)
    if found is None:
        return 0.0
    seconds = float(found["number"]) / (1000 if found["unit"].lower() == "ms" else 1)
    return 60.0 * int(found["minutes"] or 0) + seconds


def _walk(body: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every name with its text or number."""
    if depth > _DEEPEST:
        return
    if isinstance(body, dict):
        for key, value in body.items():
            yield from _walk(value, str(key), depth + 1)
    elif isinstance(body, list):
        for value in body:
            yield from _walk(value, name, depth + 1)
    elif isinstance(body, str | int) and not isinstance(body, bool):
        yield name, str(body)
