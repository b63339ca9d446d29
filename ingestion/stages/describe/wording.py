"""People's edits to entities and relationships, combined by the entity they now apply to.

In a merged group the kept entity's own edits come before those of the others; of two edits to the
same field the later one counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ingestion.models import EntityRuling, RelationshipRuling
from ingestion.resolution.keys import Ref, key_of_name
from ingestion.resolution.overrides import Reading

Field = EntityRuling.Field
LinkField = RelationshipRuling.Field
WORDS: Final = (Field.NAME, Field.TYPE, Field.DESCRIPTION)
FLAGS: Final = {
    Field.CREATED: ("is_made", True),
    Field.DELETED: ("is_made", False),
    Field.PROTECTED: ("is_protected", True),
    Field.UNPROTECTED: ("is_protected", False),
    Field.CONFIRMED: ("is_confirmed", True),
}

Said = tuple[Ref, str, str]
"""Entity, field and value; later edits come last."""
Link = tuple[Ref, Ref]
SaidOfLink = tuple[Ref, Ref, str, str]


@dataclass(slots=True)
class Wording:
    """People's edits to one entity; None for fields they did not edit.

    ``aliases`` are names it goes by, ``refused`` names it does not.
    """

    name: str | None = None
    type: str | None = None
    description: str | None = None
    is_made: bool = False
    is_protected: bool = False
    is_confirmed: bool = False
    aliases: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def hear(self, said: str, value: str) -> None:
        if said in FLAGS:
            setattr(self, *FLAGS[Field(said)])
        if said in WORDS:
            setattr(self, said, value)
        if said in (Field.NAME, Field.ALIAS):
            self.aliases[key_of_name(value)] = value
            self.refused.pop(key_of_name(value), None)
        elif said == Field.NO_ALIAS:
            self.refused[key_of_name(value)] = value
            self.aliases.pop(key_of_name(value), None)

    def join(self, other: Wording) -> None:
        """Take over from an entity merged into this one, which keeps its own name and type."""
        if self.description is None:
            self.description = other.description
        self.is_made |= other.is_made
        self.aliases = {**other.aliases, **self.aliases}


@dataclass(slots=True)
class LinkWording:
    """People's edits to one relationship."""

    is_made: bool = False
    description: str | None = None
    keywords: tuple[str, ...] | None = None

    def hear(self, said: str, value: str) -> None:
        if said in (LinkField.CREATED, LinkField.DELETED):
            self.is_made = said == LinkField.CREATED
        elif said == LinkField.DESCRIPTION:
            self.description = value
        elif said == LinkField.KEYWORDS:
            self.keywords = tuple(line for line in value.splitlines() if line)


def wordings(said: Iterable[Said], reading: Reading) -> dict[Ref, Wording]:
    """Edits by the entity they now apply to, without deleted ones."""
    own: defaultdict[Ref, Wording] = defaultdict(Wording)
    for ref, what, value in said:
        own[ref].hear(what, value)
    found: dict[Ref, Wording] = {}
    for ref in sorted(own, key=lambda ref: (ref != reading.read(ref), ref)):
        read = reading.read(ref)
        if ref in reading.deleted or read in reading.deleted:
            continue
        if ref == read:
            found[read] = own[ref]
        else:
            found.setdefault(read, Wording()).join(own[ref])
    return found


def link_wordings(said: Iterable[SaidOfLink], reading: Reading) -> dict[Link, LinkWording]:
    """Edits by the two entities they now apply to, without loops and deleted ones."""
    own: defaultdict[Link, LinkWording] = defaultdict(LinkWording)
    for source, target, what, value in said:
        own[source, target].hear(what, value)
    found: dict[Link, LinkWording] = {}
    for link in sorted(own, key=lambda link: (link != _read(link, reading), link)):
        read = _read(link, reading)
        if read[0] == read[1] or {*link, *read} & reading.deleted:
            continue
        if {link, read} & reading.dropped:
            continue
        found[read] = _joined(found.get(read), own[link])
    return found


def _read(link: Link, reading: Reading) -> Link:
    return reading.read(link[0]), reading.read(link[1])


def _joined(first: LinkWording | None, other: LinkWording) -> LinkWording:
    if first is None:
        return other
    return LinkWording(
        first.is_made or other.is_made,
        other.description if first.description is None else first.description,
        other.keywords if first.keywords is None else first.keywords,
    )


def made_refs(entities: Mapping[Ref, Wording], links: Mapping[Link, LinkWording]) -> Sequence[Ref]:
    """Entities that exist without a document: made by a person, or ends of a made relationship."""
    made = {ref for ref, wording in entities.items() if wording.is_made}
    ends = {ref for link, wording in links.items() if wording.is_made for ref in link}
    return sorted(made | ends)
