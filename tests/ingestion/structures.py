"""A workspace with two topics that little joins, and a document that stands alone."""

from __future__ import annotations

from dataclasses import dataclass

from ingestion.models import CommunityReport, Document, Entity
from tests import rows
from workspaces.models import Workspace

LIGHT = """Ada Lind trimmed the lamp of Skarrow with Bo Strand.

Ada Lind showed Bo Strand round Skarrow. Ada Lind wrote to Oil Works."""
OIL = """Cy Reef runs Oil Works. Cy Reef hired Di Fell.

Di Fell left Oil Works. Ada Lind paid Cy Reef and Di Fell."""
LETTERS = """Ada Lind praised Bo Strand. Di Fell thanked Cy Reef."""
NAMES = {
    "Ada Lind": "person",
    "Bo Strand": "person",
    "Cy Reef": "person",
    "Di Fell": "person",
    "Skarrow": "place",
    "Oil Works": "organization",
}
FACTS = (
    ("Ada Lind", "Bo Strand", "LIGHT", 0),
    ("Ada Lind", "Skarrow", "LIGHT", 0),
    ("Ada Lind", "Bo Strand", "LIGHT", 1),
    ("Bo Strand", "Skarrow", "LIGHT", 1),
    ("Ada Lind", "Oil Works", "LIGHT", 1),
    ("Cy Reef", "Oil Works", "OIL", 0),
    ("Cy Reef", "Di Fell", "OIL", 0),
    ("Di Fell", "Oil Works", "OIL", 1),
    ("Ada Lind", "Cy Reef", "OIL", 1),
    ("Ada Lind", "Di Fell", "OIL", 1),
    ("Ada Lind", "Bo Strand", "LETTERS", 0),
    ("Di Fell", "Cy Reef", "LETTERS", 0),
)


@dataclass(frozen=True)
class Structure:
    workspace: Workspace
    light: CommunityReport
    oil: CommunityReport
    entities: dict[str, Entity]
    documents: dict[str, Document]


def make_structure(workspace: Workspace) -> Structure:
    texts = {"LIGHT": LIGHT, "OIL": OIL, "LETTERS": LETTERS, "ALONE": "Yu Wren paints."}
    documents = {
        title: rows.make_document(
            workspace,
            title.capitalize(),
            text,
            names={name: kind for name, kind in NAMES.items() if name in text}
            or {"Yu Wren": "person"},
        )
        for title, text in texts.items()
    }
    entities = {name: rows.make_entity(workspace, name) for name in NAMES}
    for source, target, title, ordinal in FACTS:
        chunk = rows.chunks_of(documents[title])[ordinal]
        rows.make_relationship(entities[source], entities[target], chunk, "knows")
    light = [entities[name] for name in ("Ada Lind", "Bo Strand", "Skarrow")]
    oil = [entities[name] for name in ("Cy Reef", "Di Fell", "Oil Works")]
    return Structure(
        workspace,
        rows.make_report(workspace, "The light", light, rows.chunks_of(documents["LIGHT"])),
        rows.make_report(workspace, "The oil", oil, rows.chunks_of(documents["OIL"])),
        entities,
        documents,
    )
