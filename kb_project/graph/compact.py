"""Look-up tables of ids and texts that take few bytes and are ready as soon as they are read.

As dictionaries of objects, the names of 475,000 entities take 450 MB and seven seconds to make; as
sorted arrays 45 MB, and nothing has to be made.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise
from typing import Any, Final, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Places = NDArray[np.int64]

ID: Final = "S16"
"""Of sixteen bytes: numpy compares all of them, zeros at the end too."""
MANY: Final = 1_000
ID_BYTES: Final = 16
NOWHERE: Final = -1
_PLACES: Final = np.int64(1 << 31)


class Ids:
    """Ids by position, and positions by id."""

    def __init__(self, packed: NDArray[np.bytes_], order: NDArray[np.int32]) -> None:
        """``order`` are the positions of the ids as sorted by their bytes."""
        self._packed, self._order = packed, order
        self._sorted = packed[order]

    @classmethod
    def of(cls, ids: Iterable[UUID]) -> Self:
        return cls.of_bytes(packed(ids))

    @classmethod
    def of_bytes(cls, raw: bytes) -> Self:
        ids = np.frombuffer(raw, ID)
        return cls(ids, np.argsort(ids, kind="stable").astype(np.int32))

    def __len__(self) -> int:
        return len(self._packed)

    def __getitem__(self, place: int) -> UUID:
        return UUID(bytes=self._packed[place : place + 1].tobytes())

    def __iter__(self) -> Iterator[UUID]:
        raw = self._packed.tobytes()
        return (UUID(bytes=raw[at : at + ID_BYTES]) for at in range(0, len(raw), ID_BYTES))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ids) and np.array_equal(self._packed, other._packed)

    def place(self, one: UUID) -> int | None:
        """Return the position of an id, None if it is not here."""
        place = int(self.places([one])[0])
        return None if place == NOWHERE else place

    def places(self, ids: Collection[UUID]) -> Places:
        """Return the position of each id, -1 for one that is not here."""
        return self.places_packed(packed(ids))

    def places_packed(self, ids: bytes) -> Places:
        wanted = np.frombuffer(ids, ID)
        if not len(self):
            return np.full(len(wanted), NOWHERE, np.int64)
        at = np.minimum(_found(wanted, self._sorted), len(self) - 1)
        is_here = self._sorted[at] == wanted
        return np.where(is_here, self._order[at], NOWHERE).astype(np.int64)

    def mask(self, ids: Collection[UUID]) -> NDArray[np.bool_]:
        """Mark the positions of these ids, as far as they are here."""
        return self.mask_packed(packed(ids))

    def mask_packed(self, ids: bytes) -> NDArray[np.bool_]:
        marks = np.zeros(len(self), np.bool_)
        places = self.places_packed(ids)
        marks[places[places != NOWHERE]] = True
        return marks

    def arrays(self, name: str) -> Arrays:
        return {name: self._packed, f"{name}.order": self._order}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        return cls(arrays[name], arrays[f"{name}.order"])

    @property
    def nbytes(self) -> int:
        return self._packed.nbytes + self._order.nbytes + self._sorted.nbytes


def _found(wanted: NDArray[np.bytes_], among: NDArray[np.bytes_]) -> Places:
    """Where the ids are, or would be, among sorted ones; many are looked up by their first half,
    in order: a tenth of the time.
    """
    heads = _heads(among) if len(wanted) >= MANY else None
    if heads is None or _differ_later(heads, among):
        return np.searchsorted(among, wanted)
    halves = _heads(wanted)
    order = np.argsort(halves)
    places = np.empty(len(wanted), np.int64)
    places[order] = np.searchsorted(heads, halves[order])
    return places


def _heads(ids: NDArray[np.bytes_]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(ids).view(">u8")[::2].astype(np.uint64)


def _differ_later(heads: NDArray[np.uint64], ids: NDArray[np.bytes_]) -> bool:
    """Whether any sorted ids have the same first half, but are not the same."""
    same = np.flatnonzero(heads[1:] == heads[:-1])
    return bool((ids[same] != ids[same + 1]).any())


class IdsByPlace(Sequence[UUID]):
    """Ids by position alone: nothing is sorted."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw) // ID_BYTES

    def __getitem__(self, place: Any) -> Any:
        return UUID(bytes=self._raw[ID_BYTES * place : ID_BYTES * (place + 1)])


def packed(ids: Iterable[UUID]) -> bytes:
    return b"".join(one.bytes for one in ids)


def texts_of(lines: str, ids: bytes) -> list[str]:
    """The texts that came one on a line, as many as there are ids."""
    return lines.split("\n") if ids else []


class Filed(Mapping[str, tuple[int, ...]]):
    """Numbers by the text they are filed under, in the order in which they were filed."""

    def __init__(
        self,
        joined: bytes,
        starts: NDArray[np.uint32],
        firsts: NDArray[np.uint32],
        numbers: NDArray[np.int32],
    ) -> None:
        """``joined`` are the texts in the order of their bytes. The text at a place begins at its
        one of ``starts`` and ends at the next; its numbers do so by ``firsts``."""
        self._joined, self._starts, self._firsts, self.numbers = joined, starts, firsts, numbers
        self._bounds: memoryview = starts.data

    @classmethod
    def of(
        cls,
        under: Iterable[str],
        numbers: Sequence[int] | NDArray[np.int64],
        *,
        once: bool = False,
    ) -> Self:
        """File each number under its text: ``once`` drops repetitions, and sorts the numbers."""
        found: defaultdict[str, int] = defaultdict(count().__next__)
        which = np.fromiter(map(found.__getitem__, under), np.int32, len(numbers))
        texts = [*found]
        # By characters, which is the order of their bytes, too.
        order = sorted(range(len(texts)), key=texts.__getitem__)
        ranks = np.empty(len(texts), np.int32)
        ranks[order] = np.arange(len(texts), dtype=np.int32)
        ranked, filed = ranks[which], np.array(numbers, np.int64)
        if once:
            ranked, filed = np.divmod(np.unique(ranked * _PLACES + filed), _PLACES)
        joined, sizes = _joined([texts[place] for place in order])
        return cls(
            joined,
            _sums(sizes),
            _sums(np.bincount(ranked, minlength=len(texts))),
            filed[np.argsort(ranked, kind="stable")].astype(np.int32),
        )

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, text: str) -> tuple[int, ...]:
        place = self.place(text)
        if place is None:
            raise KeyError(text)
        return tuple(self.at(place).tolist())

    def __iter__(self) -> Iterator[str]:
        for first, last in pairwise(self._bounds):
            yield self._joined[first:last].decode(errors="surrogatepass")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filed) and (
            self._joined == other._joined
            and np.array_equal(self._starts, other._starts)
            and np.array_equal(self._firsts, other._firsts)
            and np.array_equal(self.numbers, other.numbers)
        )

    def place(self, text: str) -> int | None:
        """Return the place of a text among the texts, None if nothing is filed under it."""
        wanted = _bytes(text)
        place = bisect_left(range(len(self)), wanted, key=self._text)
        return place if place < len(self) and self._text(place) == wanted else None

    def at(self, place: int) -> NDArray[np.int32]:
        """Return the numbers filed under the text at a place."""
        found: NDArray[np.int32] = self.numbers[self._firsts[place] : self._firsts[place + 1]]
        return found

    def _text(self, place: int) -> bytes:
        return self._joined[self._bounds[place] : self._bounds[place + 1]]

    def arrays(self, name: str) -> Arrays:
        return {
            f"{name}.joined": np.frombuffer(self._joined, np.uint8),
            f"{name}.starts": self._starts,
            f"{name}.firsts": self._firsts,
            f"{name}.numbers": self.numbers,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        joined = arrays[f"{name}.joined"].tobytes()
        return cls(joined, *(arrays[f"{name}.{part}"] for part in ("starts", "firsts", "numbers")))

    @property
    def nbytes(self) -> int:
        return len(self._joined) + sum(
            one.nbytes for one in (self._starts, self._firsts, self.numbers)
        )


def _bytes(text: str) -> bytes:
    # A question may hold half of a surrogate pair.
    return text.encode(errors="surrogatepass")


def _joined(texts: Sequence[str]) -> tuple[bytes, NDArray[np.uint32]]:
    """The bytes of all texts, and how many each has."""
    joined = _bytes("".join(texts))
    if len(joined) == sum(map(len, texts)):
        return joined, np.fromiter(map(len, texts), np.uint32, len(texts))
    return joined, np.fromiter((len(_bytes(text)) for text in texts), np.uint32, len(texts))


def _sums(sizes: NDArray[Any]) -> NDArray[np.uint32]:
    sums: NDArray[np.uint32] = np.append(0, np.cumsum(sizes)).astype(np.uint32)
    return sums
