from __future__ import annotations

import io

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from tests.ingestion.parsers.conftest import headed
from tests.ingestion.parsers.samples import make_pptx


def saved(deck) -> bytes:
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def test_a_slide_is_a_page_with_title_body_and_notes(read):
    data = make_pptx(
        [("Costs", ["Rent", "Fuel"], "Say it slowly."), ("Thanks", ["Questions?"], "")]
    )

    document = read(data, "deck.pptx")

    assert [document.text[page.start : page.end] for page in document.pages] == [
        "Costs\n\n- Rent\n- Fuel\n\nNotes: Say it slowly.",
        "Thanks\n\nQuestions?",
    ]
    assert headed(document) == ["Costs", "Thanks"]
    assert document.title == "deck"


def test_the_lines_below_the_title_of_a_presentation_are_no_list(read):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[0])
    slide.shapes.title.text = "The year of the light"
    slide.placeholders[1].text = "Ada Lind\n5 May 1866"

    assert read(saved(deck), "d.pptx").text == "The year of the light\n\nAda Lind\n5 May 1866"


def test_shapes_are_read_from_top_to_bottom(read):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    for text, top in (("third", 5), ("first", 1), ("second", 3)):
        slide.shapes.add_textbox(
            Inches(1), Inches(top), Inches(3), Inches(1)
        ).text_frame.text = text

    assert read(saved(deck), "d.pptx").text == "first\n\nsecond\n\nthird"


def test_grouped_shapes_are_read(read):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(3), Inches(1)).text_frame.text = "inside"

    assert read(saved(deck), "d.pptx").text == "inside"


def test_tables_and_charts_name_their_columns(read):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    table = slide.shapes.add_table(2, 2, 0, 0, Inches(4), Inches(1)).table
    for row, cells in enumerate([("Port", "Boats"), ("Voar", "4")]):
        for column, cell in enumerate(cells):
            table.cell(row, column).text = cell
    chart = CategoryChartData()
    chart.categories = ["2023", "2024"]
    chart.add_series("Visitors", (310, 425.5))
    slide.shapes.add_chart(
        XL_CHART_TYPE.COLUMN_CLUSTERED, 0, Inches(4), Inches(4), Inches(3), chart
    )

    text = read(saved(deck), "d.pptx").text

    assert text == (
        "Port: Voar; Boats: 4\n\nCategory: 2023; Visitors: 310\nCategory: 2024; Visitors: 425.5"
    )


def test_an_empty_slide_still_counts(read):
    deck = Presentation()
    for layout, text in ((6, ""), (5, "Second")):
        slide = deck.slides.add_slide(deck.slide_layouts[layout])
        if text:
            slide.shapes.title.text = text

    pages = read(saved(deck), "d.pptx").pages

    assert [page.number for page in pages] == [1, 2]
    assert pages[0].start == pages[0].end


def test_a_damaged_presentation_is_refused(refuse):
    whole = make_pptx([("Costs", ["Rent"], "")])

    assert refuse(whole[:-2000], "half.pptx").code == "pptx_corrupt"


def test_a_merged_cell_of_a_table_is_in_each_row_that_it_covers(read):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    table = slide.shapes.add_table(3, 2, 0, 0, Inches(4), Inches(1)).table
    for row, cells in enumerate([("Port", "Boat"), ("Voar", "Ada"), ("", "Bo")]):
        for column, cell in enumerate(cells):
            table.cell(row, column).text = cell
    table.cell(1, 0).merge(table.cell(2, 0))

    assert read(saved(deck), "d.pptx").text == "Port: Voar; Boat: Ada\nPort: Voar; Boat: Bo"


def test_a_three_dimensional_chart_is_read_with_all_its_digits(read):
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    data = CategoryChartData()
    data.categories = ["2024"]
    data.add_series("Visitors", (1234567,))
    place = (0, 0, Inches(4), Inches(3))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data).chart
    bars = chart.element.find(".//{*}barChart")
    bars.tag = bars.tag.replace("barChart", "bar3DChart")

    assert read(saved(deck), "d.pptx").text == "Category: 2024; Visitors: 1234567"


def test_the_title_of_a_title_slide_is_the_title_of_the_presentation(read):
    deck = Presentation()
    deck.core_properties.title = "PowerPoint Presentation"
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = "Quarterly review"
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Berths"

    assert read(saved(deck), "Q2_final.pptx").title == "Quarterly review"
