"""What an Office file says about itself is welcome, never needed, and never obeyed."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import Limits, Source
from ingestion.parsers.office import describe_office, parse_xml
from tests.ingestion.parsers.samples import make_zip

NAMESPACES = (
    'xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'
)


def described(path: Path) -> tuple[str, dict[str, str]]:
    builder = TextBuilder(Source(path, "plan.docx", "unused", Limits()))
    return describe_office(builder, path), builder.metadata


def core(fields: str) -> bytes:
    return make_zip(
        {"docProps/core.xml": f"<cp:coreProperties {NAMESPACES}>{fields}</cp:coreProperties>"}
    )


def test_properties_become_metadata_under_plain_names(write):
    title, metadata = described(
        write(
            core(
                "<dc:title>Plan</dc:title><dc:creator>Ada</dc:creator>"
                "<dc:subject>Oil</dc:subject><cp:keywords>a, b</cp:keywords>"
                "<dcterms:created>2024-03-14T12:00:00Z</dcterms:created>"
                "<cp:lastModifiedBy>Bob</cp:lastModifiedBy>"
            )
        )
    )

    assert title == "Plan"
    assert metadata == {
        "author": "Ada",
        "subject": "Oil",
        "keywords": "a, b",
        "created": "2024-03-14T12:00:00Z",
    }


def test_an_empty_property_says_nothing(write):
    assert described(write(core("<dc:title/><dc:creator> </dc:creator><!-- c -->"))) == ("", {})


def test_a_property_of_several_lines_is_one_line(write):
    fields = f"<dc:description>one\n two\t{'long ' * 200}</dc:description>"

    description = described(write(core(fields)))[1]["description"]

    assert description.startswith("one two long")
    assert len(description) <= 300


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no archive",
        make_zip({"word/document.xml": "<a/>"}),
        make_zip({"docProps/core.xml": ""}),
        make_zip({"docProps/core.xml": "<cp:coreProperties>"}),
        make_zip({"docProps/core.xml": b"\xff\xfe\x00"}),
    ],
)
def test_a_file_without_readable_properties_is_still_a_file(write, data):
    assert described(write(data)) == ("", {})


def test_an_entity_that_reads_a_file_is_not_resolved(write):
    secret = write(b"the secret")
    root = parse_xml(
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><a>before &x; after</a>'.encode()
    )

    assert "secret" not in "".join(str(text) for text in root.itertext("a"))


def test_entities_that_multiply_are_refused_before_they_grow():
    levels = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(8))
    data = f'<!DOCTYPE a [<!ENTITY e0 "bomb">{levels}]><a>&e8;</a>'.encode()

    with pytest.raises(etree.XMLSyntaxError):
        parse_xml(data)


@pytest.mark.parametrize("data", [b"", b"<a>", b"<a></b>", b"\x00", b"<a>&nosuch</a>"])
def test_broken_xml_is_one_kind_of_error(data):
    with pytest.raises(etree.XMLSyntaxError):
        parse_xml(data)
