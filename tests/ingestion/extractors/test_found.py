from __future__ import annotations

import json

from ingestion.extractors.found import STATED, Extraction, FoundMention, FoundRelation

EXTRACTION = Extraction(
    (
        FoundMention(0, 6, "Marley", "person", "ner"),
        FoundMention(11, 18, "Scrooge", "person", "ner"),
    ),
    (FoundRelation(0, 1, "was partner of", 0, 29, STATED, 1.0),),
)


def test_an_extraction_survives_json():
    assert Extraction.from_json(json.loads(json.dumps(EXTRACTION.as_json()))) == EXTRACTION


def test_shifting_moves_every_offset_and_no_index():
    moved = EXTRACTION.shifted(100)

    assert [(m.start, m.end) for m in moved.mentions] == [(100, 106), (111, 118)]
    assert (moved.relations[0].start, moved.relations[0].end) == (100, 129)
    assert (moved.relations[0].source, moved.relations[0].target) == (0, 1)


def test_an_empty_extraction_is_empty_json():
    assert Extraction().as_json() == {"mentions": [], "relations": []}
