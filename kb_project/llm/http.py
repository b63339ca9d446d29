"""The connection to one OpenAI-compatible server: the official client, with our own limits.

Its retries are off (ours support pauses), redirects are not followed (a key goes to one host only),
and answers are read up to a size and until a deadline, however slowly they arrive. An address that
people entered is reached through ``kb_project.egress`` only.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx2

from kb_project import egress
from kb_project.errors import EndpointError, ModelError, RefusedError, ReplyError
from kb_project.llm import halting, refusals
from kb_project.llm.capabilities import NO_FEATURES, Support
from kb_project.llm.halting import make_halting
from kb_project.llm.provider import LONGEST_REPLY, UnsupportedError

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI

CONNECT_SECONDS: Final = 10.0
MOST_CLIENTS: Final = 32
CHAT: Final = "/chat/completions"
EMBEDDINGS: Final = "/embeddings"
MODELS: Final = "/models"
RERANK: Final = "/rerank"
_AS_STREAM: Final = {"X-Stainless-Raw-Response": "stream"}
"""Tells the client to leave a response unread, for paths it has no method for."""
_LARGEST: Final = 4 * LONGEST_REPLY
"""Bytes of a whole HTTP response: JSON escapes take up to six bytes per character."""
_REFUSAL: Final = 64_000
"""Bytes of a refusal that are read, and the seconds it may take to arrive."""
_REFUSAL_SECONDS: Final = 10.0
_UNEXPLAINED: Final = frozenset({"endpoint_down", "endpoint_timeout", "endpoint_not_a_model"})
"""Errors that would tell which ports of a network answer."""
_clients: dict[tuple[str, str, bool, int], OpenAI] = {}
_opening = threading.Lock()


class Connection:
    """Thread-safe. ``endpoint`` may or may not end in ``/v1``, or in the chat path itself.

    ``is_operators`` is for the installation's own endpoint, which may be anywhere.
    """

    def __init__(self, endpoint: str, key: str, *, is_operators: bool = False) -> None:
        self.host = urlsplit(endpoint).hostname or "The endpoint"
        self._key = key
        self._bases = bases_of(endpoint)
        self._is_operators = is_operators
        has_scheme = urlsplit(endpoint).scheme in egress.USUAL_PORTS
        self._is_explained = is_operators or not has_scheme or egress.is_listed(endpoint)

    def not_a_model(self) -> ModelError:
        return self._explained(refusals.not_a_model(self.host))

    def _explained(self, error: ModelError) -> ModelError:
        """Return the error, or one for all of them at a host that the operator does not list."""
        if self._is_explained or error.code not in _UNEXPLAINED:
            return error
        return refusals.not_reached(self.host, getattr(error, "retry_after", 0.0))

    def ask(
        self,
        path: str,
        body: Mapping[str, Any] | None,
        timeout: float,
        *,
        used: Support,
        largest: int = _LARGEST,
    ) -> dict[str, Any]:
        """Return the JSON object that the server answers; raises as ``Provider`` documents."""
        with self.open(path, body, timeout, used=used) as chunks:
            return self.decoded(b"".join(bounded(chunks, largest)))

    def ask_plainly(
        self, path: str, body: Mapping[str, Any], timeout: float, *, largest: int
    ) -> dict[str, Any]:
        """Ask without any optional feature of the protocol."""
        try:
            return self.ask(path, body, timeout, used=NO_FEATURES, largest=largest)
        except UnsupportedError as error:
            raise self.not_a_model() from error

    @contextmanager
    def open(
        self, path: str, body: Mapping[str, Any] | None, timeout: float, *, used: Support
    ) -> Iterator[Iterator[bytes]]:
        """Yield the response's bytes as they arrive. Raises ReplyError if the work is halted."""
        halting.check()
        try:
            with self._opened(path, body, timeout, used) as chunks:
                yield chunks
        except (EndpointError, RefusedError) as error:
            halting.check()
            explained = self._explained(error)
            if explained is error:
                raise
            raise explained from None

    @contextmanager
    def _opened(
        self, path: str, body: Mapping[str, Any] | None, timeout: float, used: Support
    ) -> Iterator[Iterator[bytes]]:
        import openai

        deadline = time.monotonic() + timeout
        try:
            with self._sent(path, body, timeout, used) as response:
                yield self._timed(response.iter_bytes(), deadline)
        except (openai.APITimeoutError, httpx2.TimeoutException) as error:
            raise refusals.timed_out(self.host) from error
        except (openai.APIConnectionError, httpx2.TransportError, httpx2.StreamError) as error:
            raise refusals.down(self.host, "cannot be reached, or the connection broke") from error
        except openai.APIStatusError as error:
            # Without its cause, which holds the server's own words, and they may echo text or key.
            raise self._refusal(error, used) from None
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise refusals.not_a_model(self.host) from error

    def decoded(self, read: bytes) -> dict[str, Any]:
        """Decode a response's object; detects servers that answer 200 with an error. A bare list
        is its ``data``.
        """
        try:
            found = json.loads(read)
        except (ValueError, RecursionError):
            if read.lstrip()[:1] == b"{":  # it began well: worth another try
                raise refusals.down(self.host, "stopped partway through an answer") from None
            raise refusals.not_a_model(self.host) from None
        if isinstance(found, list):
            found = {"data": found}
        if not isinstance(found, dict):
            raise refusals.not_a_model(self.host)
        self.check(found)
        return found

    def check(self, found: Mapping[str, Any]) -> None:
        problem = found.get("error")
        if problem and not found.get("choices"):
            status = refusals.status_in(problem)
            raise refusals.from_status(status, json.dumps(problem), host=self.host, used=Support())

    @contextmanager
    def _sent(
        self, path: str, body: Mapping[str, Any] | None, timeout: float, used: Support
    ) -> Iterator[Any]:
        """Try the URL as given, then with ``/v1``, and remember the one that answers."""
        import openai

        for base in self._bases:
            is_last = base == self._bases[-1]
            try:
                client = client_for(base, self._key, is_operators=self._is_operators)
                with _request(client, path, body, timeout) as found:
                    if not is_last and "html" in found.headers.get("content-type", ""):
                        continue
                    self._bases = (base,)
                    yield found
                    return
            except openai.APIStatusError as error:
                refusal = self._refusal(error, used)
                if is_last or getattr(refusal, "code", "") != "endpoint_not_a_model":
                    raise

    def _refusal(self, error: APIStatusError, used: Support) -> Exception:
        return refusals.from_status(
            error.status_code,
            error.response.text,
            host=self.host,
            used=used,
            retry_after=refusals.seconds_of(error.response.headers.get("retry-after", "")),
        )

    def _timed(self, chunks: Iterator[bytes], deadline: float) -> Iterator[bytes]:
        for chunk in chunks:
            yield chunk
            if time.monotonic() > deadline:
                raise refusals.timed_out(self.host)


def bases_of(endpoint: str) -> tuple[str, ...]:
    """Return the base URLs to try.

    >>> bases_of("http://127.0.0.1:11434/")
    ('http://127.0.0.1:11434', 'http://127.0.0.1:11434/v1')
    >>> bases_of("https://api.example.com/v1/chat/completions")
    ('https://api.example.com/v1',)
    >>> bases_of("https://x.openai.azure.com/openai/deployments/small?api-version=2024-10-21")
    ('https://x.openai.azure.com/openai/deployments/small?api-version=2024-10-21',)
    """
    address, _, query = endpoint.strip().partition("?")
    base = address.rstrip("/")
    for path in (CHAT, EMBEDDINGS, RERANK):
        base = base.removesuffix(path)
    if query:
        return (f"{base}?{query}",)
    last = urlsplit(base).path.rpartition("/")[2]
    return (base,) if last[:1] == "v" and last[1:2].isdigit() else (base, f"{base}/v1")


def bounded(chunks: Iterator[bytes], largest: int) -> Iterator[bytes]:
    """Yield the chunks; raises ReplyError if they exceed ``largest`` bytes together."""
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > largest:
            raise ReplyError("The model's answer is too long.", code="reply_invalid")
        yield chunk


def client_for(base: str, key: str, *, is_operators: bool = False) -> OpenAI:
    """Return the client for an address, key and process; its open connections do not survive a
    fork.
    """
    place = (base, key, is_operators, os.getpid())
    with _opening:
        if place not in _clients:
            # The oldest is closed once the last call on it has ended.
            while len(_clients) >= MOST_CLIENTS:
                _clients.pop(next(iter(_clients)))
            _clients[place] = _client(base, key, is_operators=is_operators)
        return _clients[place]


def _client(base: str, key: str, *, is_operators: bool) -> OpenAI:
    import openai

    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RefusedError(
            "The endpoint's address is not a web address.",
            code="endpoint_not_a_model",
            next_step="Enter an address that starts with http:// or https://.",
        )
    if not (key.isascii() and key.isprintable()):
        raise refusals.key_refused(parts.hostname)
    # An organisation named in the environment belongs to another key.
    headers: Any = {"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit}
    address, _, query = base.partition("?")
    if query:  # Azure's classic addresses take the key in a header of their own
        headers["api-key"] = key.strip() or "none"
    return openai.OpenAI(
        # Not empty: for an empty key the client looks in the environment.
        api_key=key.strip() or "none",
        base_url=address,
        default_query=dict(parse_qsl(query)),
        max_retries=0,
        http_client=make_halting(_transport(is_operators=is_operators)),
        default_headers=headers,
    )


def _transport(*, is_operators: bool) -> httpx2.Client:
    """Return the way to an endpoint. The operator's own may be behind the operator's own proxy."""
    import openai

    hooks = {"response": [_bound_refusal]}
    if is_operators:
        return openai.DefaultHttpxClient(follow_redirects=False, event_hooks=hooks)
    return egress.http_client(event_hooks=hooks, limits=openai.DEFAULT_CONNECTION_LIMITS)


def _bound_refusal(response: httpx2.Response) -> None:
    """Limit a refusal's body, which the client reads whole."""
    if not response.is_success and isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Refusal(response.stream)


class _Refusal(httpx2.SyncByteStream):
    """The beginning of a body, as far as it arrives within a few seconds."""

    def __init__(self, whole: httpx2.SyncByteStream) -> None:
        self._whole = whole

    def __iter__(self) -> Iterator[bytes]:
        until, left = time.monotonic() + _REFUSAL_SECONDS, _REFUSAL
        for chunk in self._whole:
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0 or time.monotonic() > until:
                return

    def close(self) -> None:
        self._whole.close()


def _request(client: OpenAI, path: str, body: Mapping[str, Any] | None, timeout: float) -> Any:
    limits = httpx2.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
    if body is None:
        return client.models.with_streaming_response.list(timeout=limits)
    if path == EMBEDDINGS:
        return client.embeddings.with_streaming_response.create(**body, timeout=limits)
    if path == RERANK:
        unread: Any = client.post(
            path,
            cast_to=object,
            body=dict(body),
            options={"headers": _AS_STREAM, "timeout": limits},
        )
        return closing(unread)
    return client.chat.completions.with_streaming_response.create(**body, timeout=limits)
