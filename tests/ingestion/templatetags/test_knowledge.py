from __future__ import annotations

import uuid

import pytest

from ingestion.documents import presenters
from ingestion.templatetags import knowledge
from workspaces.models import Workspace

WORKSPACE = Workspace(name="Harbour", slug="harbour")


def test_types_are_named_for_people_whatever_their_case():
    assert knowledge.type_label("GPE") == "Place"
    assert knowledge.type_label("organization") == "Organisation"
    assert knowledge.type_label("RIVER_BED") == "River bed"
    assert knowledge.type_label("") == "Other"


def test_a_type_nobody_knows_has_a_colour():
    assert knowledge.type_hue("river") == "other"
    assert knowledge.type_hue("PERSON") == "person"


def test_quotations_lose_marks_and_line_breaks():
    assert knowledge.plain("## The *Great*\nLens") == "The Great Lens"


def test_a_readers_address_leaves_out_what_is_not_given():
    number = uuid.UUID(int=1)

    assert presenters.reader_url(WORKSPACE, number).endswith(f"/w/harbour/documents/{number}/")
    assert presenters.reader_url(WORKSPACE, number, start=0, end=4, view="").endswith(
        "?start=0&end=4"
    )


def test_pages_are_called_what_the_format_calls_them():
    assert presenters.page_noun("pptx") == "slide"
    assert presenters.page_noun("pdf") == "page"


@pytest.mark.parametrize(
    ("writer", "expected"),
    [
        ("extractive", "In the documents' own words"),
        ("joined", "From a model's notes on single passages"),
        ("gemma3-270m", "Summarised by gemma3-270m"),
    ],
)
def test_a_description_says_who_wrote_it(writer: str, expected: str):
    assert knowledge.written_by(writer) == expected
