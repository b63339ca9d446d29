"""Reads bodies of requests to the API, up to a limit, and how to sign in.

On its own since REST framework imports it while it defines its views.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any, Final

from rest_framework.parsers import JSONParser

from kb_project.errors import InputError

CHALLENGE: Final = 'Bearer realm="Concordance"'
"""How to sign in to the API, for the header WWW-Authenticate."""
LARGEST: Final = 32 * 1024 * 1024
"""Bytes of JSON. Files are sent in forms, which are stored on disk and measured as they
are read."""


class BoundedJSONParser(JSONParser):
    """Raises InputError for a longer body, before reading all of it, or one nested too deep."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        body = stream.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise InputError(
                f"The body is longer than {LARGEST // 1024**2} MB.",
                code="body_too_large",
                kept="Nothing was changed.",
                next_step="Send less at once.",
            )
        try:
            return super().parse(BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise InputError(
                "The JSON is nested too deep.",
                code="nested_too_deep",
                kept="Nothing was changed.",
                next_step="Send a flatter object.",
            ) from None
