"""Downloads of files, read block by block: they may be larger than the memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import BinaryIO, Final

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

BLOCK: Final = 1024 * 1024


def download(file: BinaryIO, *, name: str, size: int, content_type: str) -> StreamingHttpResponse:
    """Return the file as a download that no one caches; it is closed with the response."""
    response = StreamingHttpResponse(_Blocks(file), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Content-Length"] = str(size)
    response["Cache-Control"] = "no-store"
    return response


class _Blocks:
    """The content of a file, read in a thread, so that other requests are answered meanwhile."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while block := await sync_to_async(self._file.read)(BLOCK):
            yield block

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        # For a response that no one reads.
        self.close()
