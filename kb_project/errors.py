"""The tree of errors that people and programs can get.

::

    KBError
    ├── InputError            the request cannot be carried out as sent
    │   └── UploadError       a file was refused before anything was stored
    ├── ParseError            one file cannot be read; every other document is untouched
    ├── StageError            a stage of the pipeline stopped
    ├── SignInError           who sends the request is not known
    ├── NotFoundError         it does not exist here, or this user may not see it
    ├── ForbiddenError        the user is a member but lacks the capability
    ├── ConflictError         the target's state does not allow this
    │   ├── PreconditionError the target has changed since the request was made
    │   └── QuotaError        a limit on what is kept is reached
    ├── LimitError            too much at once; the same request is allowed later
    ├── UnavailableError      a part of the system does not answer; retrying helps
    └── ModelError            a language model gave no usable answer
        ├── ReplyError        one call got none; other calls may succeed
        └── PauseError        work waits, with everything kept, until something changes
            ├── EndpointError the endpoint is down or busy; retrying helps
            ├── RefusedError  the endpoint refuses the key or the model
            └── BudgetError   the workspace's budget or the operator's limit is spent

Each error carries a stable ``code`` for programs and three parts of one explanation for people:
what happened, what was kept, what to do next. None of them ever holds document text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypedDict, TypeVar
from uuid import UUID


class Problem(TypedDict):
    """An error as stored with the job it ended."""

    code: str
    happened: str
    kept: str
    next_step: str


class KBError(Exception):
    """An expected failure, explained in a sentence for people.

    ``retryable`` says whether the same call may succeed later without any change. ``fields`` gives
    programs details as plain JSON values.
    """

    default_code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        happened: str,
        *,
        code: str | None = None,
        kept: str = "",
        next_step: str = "",
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(happened)
        self.fields = dict(fields or {})
        self.happened = happened
        self.code = code or self.default_code
        self.kept = kept
        self.next_step = next_step

    @property
    def sentence(self) -> str:
        """The three parts as one paragraph."""
        return " ".join(part for part in (self.happened, self.kept, self.next_step) if part)

    def problem(self, *, kept: str = "", next_step: str = "") -> Problem:
        """Return the error's parts; ``kept`` and ``next_step`` fill in where it has none."""
        return {
            "code": self.code,
            "happened": self.happened,
            "kept": self.kept or kept,
            "next_step": self.next_step or next_step,
        }


class InputError(KBError):
    """The request cannot be carried out as sent."""

    default_code = "invalid_input"


class UploadError(InputError):
    """A file was refused before anything was stored."""

    default_code = "upload_refused"


class ParseError(KBError):
    """One file cannot be read; every other document is untouched."""

    default_code = "unreadable"


class StageError(KBError):
    """A stage of the pipeline stopped."""

    default_code = "stage_failed"


class SignInError(KBError):
    """Who sends the request is not known: no token or password, or one that is not valid."""

    default_code = "not_authenticated"


class NotFoundError(KBError):
    """It does not exist here, or this user may not see it."""

    default_code = "not_found"


class ForbiddenError(KBError):
    """The user is a member of the workspace but lacks the capability."""

    default_code = "forbidden"


class ConflictError(KBError):
    """The target's state does not allow this."""

    default_code = "conflict"


class PreconditionError(ConflictError):
    """The target has changed since the request was made.

    ``events`` are the ids of the changes since, in order.
    """

    default_code = "changed_meanwhile"

    def __init__(
        self,
        happened: str,
        *,
        kept: str = "",
        next_step: str = "",
        fields: Mapping[str, Any] | None = None,
        events: tuple[UUID, ...] = (),
    ) -> None:
        super().__init__(happened, kept=kept, next_step=next_step, fields=fields)
        self.events = events


class QuotaError(ConflictError):
    """A limit on what is kept is reached: something must be deleted, or the limit raised."""

    default_code = "quota_reached"


class LimitError(KBError):
    """Too much at once; the same request is allowed after ``retry_after`` seconds."""

    default_code = "too_many_requests"
    retryable = True

    def __init__(
        self,
        happened: str,
        *,
        retry_after: int,
        code: str | None = None,
        kept: str = "",
        next_step: str = "",
    ) -> None:
        fields = {"retry_after": retry_after}
        super().__init__(happened, code=code, kept=kept, next_step=next_step, fields=fields)
        self.retry_after = retry_after


class UnavailableError(KBError):
    """A part of the system does not answer; retrying helps."""

    default_code = "unavailable"
    retryable = True


class ModelError(KBError):
    """A language model gave no usable answer."""

    default_code = "model_failed"


class ReplyError(ModelError):
    """One call got no usable answer; other calls may succeed.

    Codes: reply_truncated, reply_invalid, reply_refused, reply_empty, reply_timeout, prompt_cut,
    context_too_long, prompt_cut, request_refused, report_unreferenced, stopped.
    """

    default_code = "reply_invalid"


class PauseError(ModelError):
    """Work waits, with everything kept, until something changes."""

    default_code = "paused"


class EndpointError(PauseError):
    """The endpoint does not answer, or not well enough: waiting alone may help.

    Codes: endpoint_down, endpoint_timeout, endpoint_busy. ``retry_after`` is the delay the endpoint
    requests, in seconds.
    """

    default_code = "endpoint_down"
    retryable = True
    retry_after: float = 0.0


class RefusedError(PauseError):
    """The endpoint answers but refuses: the settings must be changed.

    Codes: key_refused, key_unreadable, access_refused, model_unknown, endpoint_not_a_model,
    credit_spent, dimension_changed.
    """

    default_code = "key_refused"


class BudgetError(PauseError):
    """The workspace's budget is spent, or a limit of the operator (cap_reached)."""

    default_code = "budget_spent"


RowT = TypeVar("RowT")


def found(row: RowT | None, noun: str) -> RowT:
    if row is None:
        raise NotFoundError(f"There is no such {noun} in this workspace.")
    return row
