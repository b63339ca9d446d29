from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from uuid import UUID

import pytest

from ingestion.models import Chunk, Document, DocumentVersion
from kb_project.text.regions import Region, RegionKind, as_json, within
from retrieval.answering import overview
from retrieval.answering.overview import MOST_CENTRAL, OverviewSentence
from retrieval.answering.overview_language import Target
from retrieval.search.results import Hit
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

HANDBOOK = """Contents
Lamps 1
Ropes 2

Lamps

The lamp of Skarrow burns colza oil and is lit by the keeper at dusk. The keeper trims the wick of
the lamp of Skarrow every four hours. The oil of the lamp is stored in the cellar of Ada Lind.

Trimming

Every wick is trimmed by Ada Lind before the lamp of Skarrow is lit at dusk.

Ropes

The ropes of Skarrow were made by Bram Olsen from hemp. Every rope of Skarrow is tarred in spring.
The keeper tests each rope with the weight of two men, as Ada Lind did and Bram Olsen does.

Licence

Permission to copy the handbook of Skarrow is granted to every keeper of the lamp of Skarrow.
"""


def marked(document: Document, headings: Sequence[tuple[int, str]], *, furniture: bool) -> None:
    """Give the document headings, and for furniture its contents and its licence."""
    with access.in_workspace(document.workspace_id):
        version = DocumentVersion.objects.in_workspace(document.workspace_id).get(document=document)
        places = [(level, title, version.text.index(f"\n{title}\n\n") + 1)
                  for level, title in headings]  # fmt: skip
        regions = [Region(RegionKind.HEADING, start, start + len(title), level)
                   for level, title, start in places]  # fmt: skip
        if furniture:
            regions.append(Region(RegionKind.CONTENTS, 0, version.text.index("\nLamps\n\n")))
            end = len(version.text)
            regions.append(Region(RegionKind.LEGAL, version.text.index("\nLicence"), end))
        version.headings = [list(one) for one in places]
        version.regions = as_json(regions)
        version.save()
        for chunk in Chunk.objects.in_workspace(document.workspace_id).filter(document=document):
            chunk.regions = as_json(within(regions, chunk.start, chunk.end))
            chunk.save()


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def handbook(cast: rows.Cast) -> Document:
    document = rows.make_document(
        cast.workspace,
        "The Keeper's Handbook",
        HANDBOOK,
        names={"Ada Lind": "person", "Bram Olsen": "person"},
        dated=date(1890, 5, 1),
    )
    marked(document, [(1, "Lamps"), (2, "Trimming"), (1, "Ropes"), (1, "Licence")], furniture=True)
    return document


def told(
    cast: rows.Cast, question: str, scope: Sequence[UUID] | None = None
) -> tuple[list[OverviewSentence], list[Hit]]:
    with access.in_workspace(cast.workspace.pk):
        target = overview.target(cast.workspace.pk, question, scope)
        assert target
        return overview.compose(cast.workspace.pk, target, scope)


def text_of(sentences: Sequence[OverviewSentence]) -> str:
    return "\n".join(one.text for one in sentences)


def test_a_document_is_told_by_kind_length_date_parts_names_and_sentences(
    cast: rows.Cast, handbook: Document
):
    sentences, _ = told(cast, "Summarise the keeper's handbook")

    opening, parts, names, *quotes = [one.text for one in sentences]
    assert opening == "The Keeper's Handbook (TXT, about 100 words, 1890-05-01)."
    assert parts == "Its main parts are: Lamps; Ropes."
    assert names == "It mentions Ada Lind and Bram Olsen most often and keeps returning to lamp."
    assert 2 <= len(quotes) <= MOST_CENTRAL
    assert "The lamp of Skarrow burns colza oil and is lit by the keeper at dusk." in quotes


def test_of_few_parts_those_below_them_are_told_too(cast: rows.Cast):
    parts = ["Lamps", "Oil", "Wicks", "Ropes"]
    text = "\n" + "\n\n".join(f"{part}\n\nOf {part} the keeper knows it all." for part in parts)
    document = rows.make_document(cast.workspace, "The Trade", text)
    headings = [(1, "Lamps"), (2, "Oil"), (2, "Wicks"), (1, "Ropes")]
    marked(document, headings, furniture=False)

    sentences, _ = told(cast, "Summarise the trade")

    assert sentences[1].text == "Its main parts are: Lamps (Oil, Wicks); Ropes."


@pytest.mark.parametrize(
    ("created", "shown"),
    [
        ("2024-05-01T09:30:00", ", 2024-05-01)."),
        ("2024-05-01 09:30", ", 2024-05-01)."),
        ("2024-05", ", 2024-05)."),
        ("20240501T0930", " words)."),
        ("in May", " words)."),
    ],
)
def test_of_the_time_that_a_file_was_created_the_date_is_shown(
    cast: rows.Cast, created: str, shown: str
):
    document = rows.make_document(cast.workspace, "The Log", "The lamp was lit at dusk by Ada.")
    with access.in_workspace(cast.workspace.pk):
        document.versions.update(metadata={"created": created})

    sentences, _ = told(cast, "Summarise the log")

    assert sentences[0].text.endswith(shown)


def test_contents_and_licences_are_not_what_a_document_is_about(
    cast: rows.Cast, handbook: Document
):
    sentences, hits = told(cast, "Summarise the keeper's handbook")

    assert "Licence" not in text_of(sentences)
    assert "Permission" not in text_of(sentences)
    assert not any(hit.text.startswith("Contents") for hit in hits)


def test_every_sentence_cites_a_place_of_a_passage_that_is_given(
    cast: rows.Cast, handbook: Document
):
    sentences, hits = told(cast, "What does the handbook cover?")

    by_id = {hit.chunk_id: hit for hit in hits}
    assert all(one.spans for one in sentences)
    for one in sentences:
        for place in one.spans:
            hit = by_id[place.chunk_id]
            assert hit.document_id == handbook.pk
            assert hit.start <= place.start < place.end <= hit.end
    quotes = [one for one in sentences if one.text.startswith("The lamp")]
    for one in quotes:
        [place] = one.spans
        assert " ".join(HANDBOOK[place.start : place.end].split()) == one.text


def test_a_section_is_told_by_what_stands_in_it(cast: rows.Cast, handbook: Document):
    sentences, hits = told(cast, "What does the chapter on ropes cover?")

    assert sentences[0].text.startswith("Ropes (part of The Keeper's Handbook, about ")
    assert "tarred in spring" in text_of(sentences)
    assert "colza" not in text_of(sentences)
    assert {hit.document_id for hit in hits} == {handbook.pk}


def test_of_several_documents_each_has_a_line_and_its_title_is_bold(
    cast: rows.Cast, handbook: Document
):
    rows.make_document(cast.workspace, "Tides", "The tide of Skarrow rises by four metres in May.")

    sentences, _ = told(cast, "What are these documents about?")

    first, second, *quotes = sentences
    assert first.text.startswith("The Keeper's Handbook (TXT, about 100 words, 1890-05-01): Lamps;")
    assert first.text.endswith(
        "mentions Ada Lind and Bram Olsen most often and keeps returning to lamp."
    )
    assert second.text == "Tides (TXT, about 10 words)."
    assert [one.text[slice(*one.bold)] for one in (first, second) if one.bold] == [
        "The Keeper's Handbook",
        "Tides",
    ]
    assert "The tide of Skarrow rises by four metres in May." in [one.text for one in quotes]


def test_of_many_documents_the_shortest_share_a_line(cast: rows.Cast, handbook: Document):
    for number in range(30):
        text = f"The log of year {number} was written by the keeper of Skarrow."
        rows.make_document(cast.workspace, f"Log {number:02}", text)

    sentences, _ = told(cast, "What are these documents about?")

    lines = [one.text for one in sentences if one.bold]
    rest = next(one for one in sentences if " more documents" in one.text)
    assert len(lines) == overview.MOST_LINES - 1
    shown = overview.MOST_LINES - 2  # and the handbook
    assert rest.text.startswith(f"{30 - shown} more documents, including: Log {shown:02}; ")
    assert rest.spans


def test_only_documents_of_the_scope_are_told_of(cast: rows.Cast, handbook: Document):
    tides = rows.make_document(cast.workspace, "Tides", "The tide rises by four metres in May.")

    sentences, hits = told(cast, "What are these documents about?", [tides.pk])

    assert sentences[0].text == "Tides (TXT, about 10 words)."
    assert {hit.document_id for hit in hits} == {tides.pk}
    with access.in_workspace(cast.workspace.pk):
        assert overview.target(cast.workspace.pk, "Summarise the handbook", [tides.pk]) is None


def test_a_file_without_a_title_is_called_by_its_first_heading(cast: rows.Cast):
    text = "\nThe Reef of Skarrow\n\nThe reef of Skarrow lies a mile south of the light."
    document = rows.make_document(cast.workspace, "rs-03", text)
    marked(document, [(1, "The Reef of Skarrow")], furniture=False)

    sentences, _ = told(cast, "Summarise rs-03")

    assert sentences[0].text == "The Reef of Skarrow (TXT, about 12 words)."


def test_a_chinese_question_is_told_in_chinese(cast: rows.Cast):
    rows.make_document(cast.workspace, "灯塔", "灯塔建于一八六六年，由阿达看守了四十年。")

    sentences, _ = told(cast, "这些文件讲什么？")

    assert sentences[0].text == "灯塔（TXT, 约 20 字符）。"
    assert sentences[1].text == "灯塔建于一八六六年，由阿达看守了四十年。"


def test_a_workspace_without_documents_has_nothing_to_tell(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        assert overview.compose(cast.workspace.pk, Target(), None) == ([], [])


def test_a_document_of_code_alone_is_told_without_quoting_it(cast: rows.Cast):
    code = "for lamp in lamps:\n    lamp.light()"
    document = rows.make_document(cast.workspace, "lamps", code)
    with access.in_workspace(cast.workspace.pk):
        Chunk.objects.in_workspace(cast.workspace).filter(document=document).update(
            regions=as_json([Region(RegionKind.CODE, 0, len(code))])
        )

    sentences, _ = told(cast, "What are these documents about?")

    assert [one.text for one in sentences] == ["lamps (TXT, about 10 words)."]


def test_what_is_read_does_not_grow_with_the_documents(
    cast: rows.Cast, handbook: Document, django_assert_max_num_queries
):
    for number in range(30):
        rows.make_document(cast.workspace, f"Log {number}", "The log of Skarrow is kept by Ada.")

    with access.in_workspace(cast.workspace.pk), django_assert_max_num_queries(20):
        overview.compose(cast.workspace.pk, Target(), None)


def test_the_percent_sign_of_a_question_is_no_wildcard(cast: rows.Cast, handbook: Document):
    with access.in_workspace(cast.workspace.pk):
        assert overview.target(cast.workspace.pk, "Summarise 100%_", None) is None


def test_who_asks_which_documents_mention_somebody_gets_them_with_their_first_sentence(
    cast: rows.Cast, handbook: Document
):
    rows.make_document(
        cast.workspace, "Letters", "Bo wrote to the island. He met ada lind, the keeper, in May."
    )
    rows.make_document(cast.workspace, "Tides", "The tide rises by four metres in May.")
    other = rows.make_cast("Elsewhere")
    rows.make_document(other.workspace, "Secrets", "Nobody may know what Ada Lind did in May.")

    sentences, hits = told(cast, "Which documents mention Ada Lind?")

    number, first, second = sentences
    assert number.text == "2 documents mention Ada Lind."
    assert first.text.startswith(
        "The Keeper's Handbook (3 passages): The oil of the lamp is stored"
    )
    assert second.text == "Letters (1 passage): He met ada lind, the keeper, in May."
    passages = {hit.chunk_id: hit for hit in hits}
    for one in (first, second):
        [(chunk, start, end)] = one.spans
        said = passages[chunk].text[start - passages[chunk].start : end - passages[chunk].start]
        assert "ada lind" in said.lower()
        assert one.text.endswith(" ".join(said.split()))


def test_words_that_are_no_name_are_looked_for_too_and_stand_together(cast: rows.Cast):
    rows.make_document(cast.workspace, "Rules", "Mild\nsteel may not be used.")
    rows.make_document(cast.workspace, "Weather", "The steel of the ship is old, the winter mild.")
    rows.make_document(cast.workspace, "Log", "Eleven wicks were burned in May.")

    steel, _ = told(cast, "Where is mild steel mentioned?")
    wicks, _ = told(cast, "Which of the documents talk about wicks?")

    assert [one.text for one in steel] == [
        "1 document mentions mild steel.",
        "Rules (1 passage): Mild steel may not be used.",
    ]
    assert wicks[1].text == "Log (1 passage): Eleven wicks were burned in May."


def test_of_many_documents_that_mention_it_those_with_most_passages_are_shown(cast: rows.Cast):
    for number in range(overview.MOST_LINES + 1):
        text = "\n\n".join(["The gannet is back."] * (number + 1))
        rows.make_document(cast.workspace, f"Log {number}", text)

    sentences, _ = told(cast, "Which documents mention the gannet?")

    most = overview.MOST_LINES
    assert sentences[0].text == f"{most + 1} documents mention the gannet, these {most} the most:"
    assert sentences[1].text.startswith(f"Log {most} ({most + 1} passages): ")
    assert "Log 0" not in text_of(sentences)


def test_documents_outside_the_scope_mention_nothing_and_that_none_mentions_it_is_told(
    cast: rows.Cast, handbook: Document
):
    tides = rows.make_document(cast.workspace, "Tides", "The tide rises by four metres in May.")

    def only(question: str, scope: Sequence[UUID] | None = None) -> str:
        [sentence], hits = told(cast, question, scope)
        assert (sentence.spans, hits) == ((), [])
        return sentence.text

    assert only("Which documents mention Ada Lind?", [tides.pk]) == "No document mentions Ada Lind."
    assert only("Which documents mention unicorns?") == "No document mentions unicorns."
    assert only("Which documents mention 1_%?") == "No document mentions 1_%."
    assert only("哪些文件提到了龙？") == "没有文件提到龙。"
    assert told(cast, "Which documents mention unicorns and dragons?") == ([], [])
    with access.in_workspace(cast.workspace.pk):
        assert overview.target(cast.workspace.pk, "Which documents mention the?", None) is None


def test_a_chinese_question_for_documents_is_told_in_chinese(cast: rows.Cast):
    rows.make_document(cast.workspace, "灯塔", "灯塔建于一八六六年，由阿达看守了四十年。")

    sentences, _ = told(cast, "哪些文件提到了阿达？")

    assert [one.text for one in sentences] == [
        "有 1 份文件提到阿达。",
        "灯塔（1 段）：灯塔建于一八六六年，由阿达看守了四十年。",
    ]
