"""The errors a person or a program can meet, as one tree.

::

    KBError
    ├── InputError            the request cannot be carried out as it was sent
    │   └── UploadError       a file was refused before anything was stored
    ├── ParseError            one file cannot be read; every other document is untouched
    ├── StageError            a stage of the pipeline stopped
    ├── NotFoundError         no such thing here, or not for this person
    ├── ForbiddenError        the person is a member but lacks the capability
    ├── ConflictError         the thing is in a state that does not allow this
    └── UnavailableError      a part of the system does not answer; trying again helps

Each error carries a stable ``code`` for programs and three parts of one explanation for people:
what happened, what was kept, what to do next. None of them ever holds document text.
"""

from __future__ import annotations

from typing import ClassVar


class KBError(Exception):
    """An expected failure with a sentence for people.

    ``retryable`` says whether the same call may succeed later without anyone changing anything.
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
    ) -> None:
        super().__init__(happened)
        self.happened = happened
        self.code = code or self.default_code
        self.kept = kept
        self.next_step = next_step

    @property
    def sentence(self) -> str:
        """The three parts as one paragraph."""
        return " ".join(part for part in (self.happened, self.kept, self.next_step) if part)


class InputError(KBError):
    """The request cannot be carried out as it was sent."""

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


class NotFoundError(KBError):
    """No such thing here, or not for this person."""

    default_code = "not_found"


class ForbiddenError(KBError):
    """The person is a member of the workspace but lacks the capability."""

    default_code = "forbidden"


class ConflictError(KBError):
    """The thing is in a state that does not allow this."""

    default_code = "conflict"


class UnavailableError(KBError):
    """A part of the system does not answer; trying again helps."""

    default_code = "unavailable"
    retryable = True
