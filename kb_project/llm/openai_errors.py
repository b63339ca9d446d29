"""Interprets a server's refusal. Servers word the same refusal in many ways; the messages are ours.

What the server wrote is read but never passed on: it may echo the text that was sent, or the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kb_project.errors import EndpointError, ModelError, RefusedError, ReplyError
from kb_project.llm.provider import UnsupportedError
from kb_project.llm.support import Feature, Support

READ: Final = 4_000
"""Characters of a refusal that are examined."""
_TOO_LONG: Final = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|context_length_exceeded|n_ctx"
    r"|(prompt|input|request).{0,30}(too long|too large|exceed)|exceeds?.{0,40}context"
    r"|too many (input )?tokens|reduce the length",
    re.IGNORECASE,
)
_NO_MODEL: Final = re.compile(
    r"model.{0,120}(not found|not exist|unknown|not available|not loaded|no access|not supported)"
    r"|not a valid model|(unknown|invalid|unrecognized|no such).{0,12}model|model_not_found",
    re.IGNORECASE | re.DOTALL,
)
_FILTERED: Final = re.compile(r"safety|content.?(filter|policy|management)", re.IGNORECASE)
_NO_MONEY: Final = re.compile(r"insufficient.?(quota|funds|credit|balance)|billing", re.IGNORECASE)
# In search order: the more specific word first.
_FEATURES: Final[Mapping[Feature, re.Pattern[str]]] = {
    Feature.SCHEMA: re.compile(r"response_?format|json_?schema|grammar|schema", re.IGNORECASE),
    Feature.JSON: re.compile(r"response_?format|json_?object|json.?mode", re.IGNORECASE),
    Feature.USAGE: re.compile(r"stream_options|include_usage", re.IGNORECASE),
    Feature.STREAM: re.compile(r"\bstream(ing)?\b", re.IGNORECASE),
    Feature.OLD_LIMIT: re.compile(r"max_tokens|max_completion_tokens", re.IGNORECASE),
    Feature.TEMPERATURE: re.compile(r"\btemperature\b", re.IGNORECASE),
    Feature.SEED: re.compile(r"\bseed\b", re.IGNORECASE),
}


def from_status(
    status: int, said: str, *, host: str, used: Support, retry_after: float = 0.0
) -> ModelError | UnsupportedError:
    """Return the error that a refusal with this HTTP status means.

    ``said`` is the server's own text, ``used`` the features the refused call used.
    """
    said = said[:READ]
    if status in (401, 403):
        return key_refused(host)
    if status == 402 or (status == 429 and _NO_MONEY.search(said)):
        return _no_money(host)
    if _TOO_LONG.search(said) or status == 413:
        return context_too_long()
    if status == 429:
        return busy(host, retry_after)
    if status in (408, 504):
        return timed_out(host)
    if status >= 500 and status != 501:
        return down(host, f"answered with an error ({status})", retry_after)
    return _from_refusal(status, said, host, used)


def _from_refusal(
    status: int, said: str, host: str, used: Support
) -> ModelError | UnsupportedError:
    if status in (400, 404, 422) and _NO_MODEL.search(said):
        return model_unknown(host)
    if status not in (400, 422):
        return not_a_model(host)
    if _FILTERED.search(said):
        return ReplyError("The model's provider rejects this text.", code="reply_refused")
    for feature, pattern in _FEATURES.items():
        if used.has(feature) and pattern.search(said):
            return UnsupportedError(feature)
    return ReplyError(
        f"{host} rejected this request ({status}).",
        code="request_refused",
        next_step="Test the endpoint on the Models page.",
    )


def key_refused(host: str) -> RefusedError:
    return RefusedError(
        f"{host} rejects the key.",
        code="key_refused",
        kept="Everything done so far is kept.",
        next_step="Enter a valid key on the Models page.",
    )


def model_unknown(host: str) -> RefusedError:
    return RefusedError(
        f"{host} does not have the model.",
        code="model_unknown",
        kept="Everything done so far is kept.",
        next_step="Choose one of its models on the Models page.",
    )


def not_a_model(host: str) -> RefusedError:
    return RefusedError(
        f"{host} answers, but not like a model endpoint.",
        code="endpoint_not_a_model",
        kept="Everything done so far is kept.",
        next_step="Check the address on the Models page; it usually ends in /v1.",
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


def busy(host: str, retry_after: float = 0.0) -> EndpointError:
    return _wait(f"{host} accepts no more calls at the moment.", "endpoint_busy", retry_after)


def _wait(happened: str, code: str, retry_after: float = 0.0) -> EndpointError:
    error = EndpointError(
        happened,
        code=code,
        kept="Everything done so far is kept.",
        next_step="It continues automatically when the endpoint answers again.",
    )
    error.retry_after = retry_after
    return error


def _no_money(host: str) -> RefusedError:
    return RefusedError(
        f"{host} says that the account has no credit left.",
        code="credit_spent",
        kept="Everything done so far is kept.",
        next_step="Top up the account with the provider, then resume.",
    )
