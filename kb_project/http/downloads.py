"""Downloads of files, read block by block: they may be larger than the memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import BinaryIO, Final

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

BLOCK: Final = 1024 * 1024


def download(
    opened: Callable[[], BinaryIO], *, name: str, size: int, content_type: str
) -> StreamingHttpResponse:
    """Return the file as a download that no one caches; it is closed at its end."""
    response = StreamingHttpResponse(_blocks(opened), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Content-Length"] = str(size)
    response["Cache-Control"] = "no-store"
    return response


async def _blocks(opened: Callable[[], BinaryIO]) -> AsyncIterator[bytes]:
    """Read in a thread, so that other requests are answered meanwhile."""
    file = await sync_to_async(opened)()
    try:
        while block := await sync_to_async(file.read)(BLOCK):
            yield block
    finally:
        file.close()
