"""Downloads: texts, CSV files, and files read block by block, as they may exceed the memory."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import AsyncIterator, Iterable
from typing import BinaryIO, Final

from asgiref.sync import sync_to_async
from django.http import HttpResponse, StreamingHttpResponse

BLOCK: Final = 1024 * 1024


def download(file: BinaryIO, *, name: str, content_type: str) -> StreamingHttpResponse:
    """Return all of a file as a download that no one caches. The caller may close the file."""
    file.flush()
    response = StreamingHttpResponse(_Blocks(os.dup(file.fileno())), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Content-Length"] = str(os.fstat(file.fileno()).st_size)
    response["Cache-Control"] = "no-store"
    return response


class _Blocks:
    """The content of an open file, read in a thread, so that others are answered meanwhile."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[bytes]:
        done = 0
        while block := await sync_to_async(os.pread)(self._descriptor, BLOCK, done):
            done += len(block)
            yield block

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        # For a response that no one reads.
        self.close()


# --- texts, and files for spreadsheets ------------------------------------------------------------
# Prefixes that make a spreadsheet treat a cell as a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(text: str) -> str:
    """
    >>> safe_cell("=1+1"), safe_cell("Who?")
    ("'=1+1", 'Who?')
    """
    return f"'{text}" if _is_formula(text) else text


def _is_formula(text: str) -> bool:
    # Behind apostrophes too, so that the one added can be told from those that were there.
    return text.lstrip("'").startswith(_FORMULA)


def csv_response(name: str, rows: Iterable[Iterable[str]]) -> HttpResponse:
    """Return a download. Texts that people or models wrote must be ``safe_cell``s."""
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return text_response(name, out.getvalue(), content_type="text/csv")


def text_response(name: str, text: str, *, content_type: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
