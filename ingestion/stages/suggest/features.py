"""What is known about an entity when it is compared with others, and the result of comparing.

The lists of words cover English and the commonest forms elsewhere; a name in another language is
compared by its letters, order and surroundings.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from django.utils.functional import cached_property

from ingestion.resolution.keys import EntityPair


def _list(text: str) -> frozenset[str]:
    return frozenset(text.split())


LEGAL_FORMS: Final = _list(
    """inc incorporated ltd limited llc llp lp plc gmbh ag kg kgaa ohg ug ev sa sas sarl sprl spa
    srl bv nv oy oyj ab as asa aps co corp corporation company pty pte kk sl sau doo zrt kft"""
)
TITLES: Final = _list(
    """dr mr mrs ms miss mx sir dame lord lady prof professor captain capt lieutenant lt colonel col
    general gen major sergeant sgt admiral rev reverend father sister president senator minister
    judge justice hon herr frau monsieur madame don dona king queen prince princess emperor empress
    duke duchess count countess earl viscount baron baroness baronet landgrave margrave sultan
    pope"""
)
HONOURS: Final = _list("mbe obe cbe kbe dbe phd md dphil dsc msc ma ba bsc esq frs qc kc ra")
VESSELS: Final = _list("rv mv ms ss hms uss hmcs rms mt")
SMALL: Final = _list(
    """of the and for in on at by to a an de da do dos das del della di du des la le les el los las
    y e et und von van der den het"""
)
"""Left out of acronyms and of the words that make a name."""
WRITTEN_OUT: Final = {
    "st": "saint", "mt": "mount", "ft": "fort", "dept": "department", "univ": "university",
    "intl": "international", "natl": "national", "bros": "brothers", "assn": "association",
    "assoc": "association", "govt": "government", "inst": "institute", "tech": "technology",
    "mfg": "manufacturing", "org": "organization", "organisation": "organization",
    "centre": "center", "theatre": "theater", "harbour": "harbor", "colour": "color",
    "labour": "labor", "defence": "defense", "programme": "program", "catalogue": "catalog",
    "bin": "ibn", "nr": "number", "no": "number", "vol": "volume", "ave": "avenue", "rd": "road",
}  # fmt: skip
"""Two spellings of a word; the first is read as the second."""
_ABBREVIATED: Final = WRITTEN_OUT.keys() | {"co"}
JUNIORS: Final = _list("jr sr junior senior snr jnr")
COUNTED: Final = _list(
    """first second third fourth fifth sixth seventh eighth ninth tenth one two three four five six
    seven eight nine ten"""
)
ROMAN: Final = re.compile(r"(?=[ivx])x{0,3}(?:i[xv]|v?i{0,3})")
_OPPOSED: Final = (
    "north south east west northern southern eastern western northeast northwest southeast "
    "southwest central",
    "upper lower middle", "old new", "inner outer", "big little great small", "major minor",
    "men women male female boys girls mens womens", "mr mrs ms miss", "king queen",
    "prince princess", "duke duchess", "emperor empress", "brother sister", "son daughter",
    "father mother", "early late", "summer winter spring autumn", "black white red blue green",
    "left right", "internal external", "public private", "import export",
    "january february march april may june july august september october november december",
    "monday tuesday wednesday thursday friday saturday sunday",
    "morning evening afternoon night", "elder younger", "primary secondary", "before after",
    "alpha beta gamma delta", "bachelor master", "infantry cavalry artillery", "army navy",
)  # fmt: skip
OPPOSED: Final = {word: place for place, row in enumerate(_OPPOSED) for word in row.split()}
"""Rows of opposites: names that differ in two words of one row mean different things."""


def numbering(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that number a thing: numbers anywhere, Roman numerals and junior after a name.

    >>> numbering(("henry", "viii")), numbering(("2nd", "civil", "war")), numbering(("vi", "lind"))
    (('viii',), ('2nd',), ())
    """
    return tuple(
        word
        for place, word in enumerate(words)
        if word in COUNTED
        or any(letter.isdigit() for letter in word)
        or (place and (word in JUNIORS or ROMAN.fullmatch(word)))
    )


def written_out(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words in one standard spelling.

    >>> written_out(("st", "mary", "theatre"))
    ('saint', 'mary', 'theater')
    """
    if _ABBREVIATED.isdisjoint(words):
        return words
    if "co" in words and not {"op", "operative"}.isdisjoint(words):
        words = tuple(re.sub(r"\bco op(erative)?\b", "cooperative", " ".join(words)).split())
    return tuple(WRITTEN_OUT.get(word, word) for word in words)


def bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without titles, honours and legal forms; all of them if none would be left.

    >>> bare(("dr", "anton", "hallgrim")), bare(("acme", "co", "inc")), bare(("capt",))
    (('anton', 'hallgrim'), ('acme',), ('capt',))
    """
    first, last = 0, len(words)
    while first < last and (words[first] in TITLES or words[first] in VESSELS):
        first += 1
    if first and first < last and words[first] in SMALL:
        first = 0  # the Duke of Voar is not Voar
    while first < last and (words[last - 1] in LEGAL_FORMS or words[last - 1] in HONOURS):
        last -= 1
    return words[first:last] or words


def distinctive(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without the small ones; all of them if none would be left."""
    return tuple(word for word in words if word not in SMALL) or words


MOST_INITIALS: Final = 6
# An untyped name may be of any type.
UNTYPED: Final = frozenset({"name", "concept", "other", ""})


@dataclass(frozen=True)
class Candidate:
    """An entity with its names and neighbours; ``aliases`` are spellings by key."""

    id: uuid.UUID
    key: str
    name: str
    type: str
    sense: int = 0
    mentions: int = 0
    degree: int = 0
    aliases: Mapping[str, str] = field(default_factory=dict)
    neighbours: Set[uuid.UUID] = frozenset()

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(self.key.split())

    @cached_property
    def spelt(self) -> tuple[str, ...]:
        """Its words in one standard spelling."""
        return written_out(self.words)

    @cached_property
    def letters(self) -> str:
        """``spelt`` without spaces."""
        return "".join(self.spelt)

    @cached_property
    def core(self) -> tuple[str, ...]:
        """``spelt`` without titles and legal forms."""
        return bare(self.spelt)

    @cached_property
    def distinctive(self) -> tuple[str, ...]:
        """``core`` without small words."""
        return distinctive(self.core)

    @cached_property
    def numbering(self) -> tuple[str, ...]:
        """The words that tell numbered things apart."""
        return numbering(self.words)

    @cached_property
    def is_initials(self) -> bool:
        """Whether it is one short word in capitals."""
        if len(self.words) != 1:
            return False
        letters = [letter for letter in self.name if letter.isalpha()]
        return 2 <= len(letters) <= MOST_INITIALS and all(map(str.isupper, letters))

    @property
    def moves(self) -> int:
        """How many mentions and relationships a merge would move."""
        return self.mentions + self.degree


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for or against two entities being one.

    ``weight`` is added to the log odds. ``words`` is the reason as people read it, '' if it is not
    worth showing. ``is_of_names``: nothing is suggested without one such reason.
    """

    kind: str
    weight: float
    words: str = ""
    is_of_names: bool = False

    def as_json(self) -> dict[str, object]:
        return {"kind": self.kind, "weight": round(self.weight, 2), "words": self.words}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A pair with its certainty, from 0 to 1, and the reasons, the weightiest first."""

    pair: EntityPair
    certainty: float
    reasons: tuple[Reason, ...]
