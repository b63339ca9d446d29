"""Tables of a PDF: words at places become rows that name their columns, and nothing else does."""

from __future__ import annotations

from collections.abc import Sequence

import pypdfium2
import pytest
from hypothesis import given, settings, strategies as st

from ingestion.parsers.pdf_layout import read_page
from ingestion.parsers.pdf_lines import PageLines
from tests.ingestion.parsers.samples import Line, make_pdf, paragraph, text_page

SIZE = 10.0
NARROW = " .,:;'|ijlft()-"


def width(text: str) -> float:
    """About as wide as in Helvetica; digits exactly."""
    return sum(0.278 if letter in NARROW else 0.556 for letter in text) * SIZE


def table(
    rows: Sequence[Sequence[str]],
    *,
    at: Sequence[float],
    align: str,
    top: float = 700,
    step: float = 14,
) -> list[Line]:
    """Cells whose left edge, right edge or middle is at these places, row by row."""
    shares = {"left": 0.0, "right": 1.0, "middle": 0.5}
    return [
        (SIZE, place - shares[align] * width(cell), top - step * number, cell)
        for number, row in enumerate(rows)
        for place, cell in zip(at, row, strict=True)
        if cell
    ]


def read(*lines: Line) -> str:
    document = pypdfium2.PdfDocument(make_pdf([text_page(*lines)]))
    text = read_page(PageLines.of(document[0].get_textpage())).text
    document.close()
    return text


ACCOUNTS = [
    ["", "2025", "2024"],
    ["Ticket sales", "14,210", "13,005"],
    ["Freight", "3,870", "4,112"],
    ["Shops", "925", "811"],
]


@pytest.mark.parametrize("align", ["left", "right", "middle"])
def test_cells_are_aligned_on_the_left_on_the_right_or_in_the_middle(align):
    text = read(*table(ACCOUNTS, at=[150, 300, 420], align=align))

    assert text == (
        "2025; 2024\n"
        "Ticket sales; 2025: 14,210; 2024: 13,005\n"
        "Freight; 2025: 3,870; 2024: 4,112\n"
        "Shops; 2025: 925; 2024: 811"
    )


def test_words_beside_an_empty_corner_name_the_columns():
    rows = [["", "Oar", "Sail"], ["First boat", "Ash", "Flax"], ["Second boat", "Elm", "Hemp"]]

    text = read(*table(rows, at=[72, 200, 300], align="left"))

    assert text.endswith("Second boat; Oar: Elm; Sail: Hemp")


def test_sentences_around_a_table_are_no_rows():
    prose = "The ferries carried more passengers than in any year before, and less freight."
    text = read(
        *paragraph([prose], top=730, size=SIZE),
        *table(ACCOUNTS, at=[150, 300, 420], align="right"),
        *paragraph(["Freight fell, because the mill closed."], top=630, size=SIZE),
    )

    before, *rows, after = text.split("\n\n")
    assert before == prose
    assert [row.count("\n") for row in rows] == [3]
    assert after == "Freight fell, because the mill closed."


def test_an_empty_cell_moves_no_other_into_its_column():
    rows = [*ACCOUNTS, ["Subsidies", "", "75"], ["Gifts", "12", ""]]

    text = read(*table(rows, at=[150, 300, 420], align="right"))

    assert text.endswith("Subsidies; 2024: 75\nGifts; 2025: 12")


def test_a_line_that_names_a_part_of_a_table_belongs_to_no_column():
    rows = [["Account", "2025", "2024"], *ACCOUNTS[1:], ["Costs", "", ""], ["Fuel", "440", "20"]]

    text = read(*table(rows, at=[72, 300, 420], align="left"))

    assert text.endswith("\nCosts\nAccount: Fuel; 2025: 440; 2024: 20")


def test_a_name_over_several_columns_is_part_of_the_name_of_each():
    text = read(
        *table([["Weekdays", "Sundays"]], at=[235, 385], align="middle", top=714),
        *table(
            [["", "First", "Last", "First", "Last"], ["Quay", "5:40", "23:15", "7:00", "21:30"],
             ["Island", "6:30", "", "8:05", ""], ["Fort", "6:45", "22:50", "8:20", "21:05"]],
            at=[100, 210, 260, 360, 410],
            align="middle",
        ),
    )  # fmt: skip

    assert "Island; Weekdays First: 6:30; Sundays First: 8:05" in text


def test_a_currency_before_its_amount_is_no_column():
    lines = table(ACCOUNTS, at=[150, 300, 420], align="right")
    signs = [(SIZE, 250.0, 700 - 14 * row, "$") for row in (1, 2, 3)]
    # Row by row and from left to right, as programs write.
    lines = sorted([*lines, *signs], key=lambda line: (-line[2], line[1]))

    assert "Freight; 2025: $ 3,870; 2024: 4,112" in read(*lines)


def test_a_cell_of_several_lines_is_one_value():
    text = read(
        *table([["Code", "Service", "Price"]], at=[72, 150, 400], align="left"),
        # The second cell has two lines, the others stand beside its middle.
        *table(
            [["S-10", "Answers from the help desk, and", ""]],
            at=[72, 150, 400],
            align="left",
            top=677,
        ),
        (SIZE, 150, 665, "access to all guides"),
        (SIZE, 400, 671, "45"),
        *table([["S-20", "A named engineer", "120"]], at=[72, 150, 400], align="left", top=640),
        *table([["S-30", "Round the clock", "390"]], at=[72, 150, 400], align="left", top=615),
    )

    assert text.split("\n")[1:] == [
        "Code: S-10; Service: Answers from the help desk, and access to all guides; Price: 45",
        "Code: S-20; Service: A named engineer; Price: 120",
        "Code: S-30; Service: Round the clock; Price: 390",
    ]


def test_a_name_of_several_lines_is_one_name_where_rows_are_farther_apart():
    rows = [["Measure", "2024", "2030"], ["Litres burned", "9,800", "1"], ["Days lost", "12", "2"]]
    text = read(
        *table(rows, at=[72, 300, 420], align="left", step=25),
        (SIZE, 72, 625, "Apprentices who have completed"),
        (SIZE, 72, 612, "Next Keepers"),
        *table([["3", "12"]], at=[300, 420], align="left", top=625),
        *table([["Lamps", "4", "8"]], at=[72, 300, 420], align="left", top=587),
    )

    assert "Measure: Apprentices who have completed Next Keepers; 2024: 3; 2030: 12" in text


def test_a_cell_of_many_lines_may_come_before_those_beside_its_first():
    text = read(
        *table([["Part", "Made of", "Kept by"]], at=[72, 150, 300], align="left"),
        *table([["Lamps", "Glass", "Ada Holt"]], at=[72, 150, 300], align="left", top=682),
        *table([["Wires", "Copper of the old"]], at=[72, 150], align="left", top=664),
        (SIZE, 150, 652, "ferry, drawn in the"),
        (SIZE, 150, 640, "winter of that year"),
        (SIZE, 150, 628, "and of the next"),
        (SIZE, 300, 664, "Ben Ray"),
        *table([["Oil", "Seals", "Cy Moss"]], at=[72, 150, 300], align="left", top=602),
    )

    assert text.split("\n")[2:] == [
        "Wires; Copper of the old ferry, drawn in the winter of that year and of the next; Ben Ray",
        "Oil; Seals; Cy Moss",
    ]


PLACES_OF_NAMES = [72, 200, 330]
NAMES = ["What you see", "Likely cause", "What to do"]
FAULTS = [
    ["Hums", "A phase is missing", "Stop at once"],
    ["Rattles", "Air", "Open the valve"],
    ["Drips", "A worn seal", "Change it"],
]


def pages_of(*pages: Sequence[Line]) -> list[str]:
    document = pypdfium2.PdfDocument(make_pdf([text_page(*lines) for lines in pages]))
    opened = [PageLines.of(page.get_textpage()) for page in document]
    around = zip([None, *opened], opened, [*opened[1:], None], strict=False)
    texts = [read_page(page, before, after).text for before, page, after in around]
    document.close()
    return texts


@given(st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=9, deadline=None)
def test_names_that_are_repeated_on_the_next_page_name_each_row_on_both(before, after):
    rows = [[f"{cell} {n}" for cell in FAULTS[n % 3]] for n in range(before + after)]
    head = (8.0, 72.0, 780.0, "Pumps")

    first, second = pages_of(
        [head, *table([NAMES, *rows[:before]], at=PLACES_OF_NAMES, align="left", top=200)],
        [head, *table([NAMES, *rows[before:]], at=PLACES_OF_NAMES, align="left", top=740)],
    )

    names = "; ".join(NAMES)
    told = [
        "; ".join(f"{name}: {cell}" for name, cell in zip(NAMES, row, strict=True)) for row in rows
    ]
    assert first == "\n".join(["Pumps\n", names, *told[:before]])
    assert second == "\n".join(["Pumps\n", names, *told[before:]])


def filled(*rows: int, grey: float = 0.8) -> bytes:
    """A filled area behind each of these rows of a table."""
    areas = [f"{grey} g 60 {696 - 14 * row} 460 14 re f 0 g" for row in rows]
    return "\n".join([*areas, ""]).encode()


@pytest.mark.parametrize(
    ("background", "is_named"),
    [
        (b"", False),
        (filled(0), True),
        (filled(0, 4), True),
        (filled(1, 2, 3, 4), True),
        (filled(0, grey=1), False),
        (filled(0, 2, 4), False),
        (filled(0, 1, 2, 3, 4), False),
    ],
    ids=["none", "names", "names and total", "rows", "white", "every other row", "all"],
)
def test_a_first_row_with_a_colour_of_its_own_names_the_columns(background, is_named):
    rows = [*FAULTS, ["All", "Age", "A new pump"]]
    content = text_page(*table([NAMES, *rows], at=PLACES_OF_NAMES, align="left"))
    document = pypdfium2.PdfDocument(make_pdf([background + content]))

    text = read_page(PageLines.of(document[0].get_textpage())).text

    document.close()
    named = "What you see: Drips; Likely cause: A worn seal; What to do: Change it"
    assert text.split("\n")[3] == (named if is_named else "Drips; A worn seal; Change it")


def test_a_divided_running_head_is_no_row_of_names():
    head = [(SIZE, 72.0, 780.0, "Harbour Office"), (SIZE, 330.0, 780.0, "Internal")]
    prose = paragraph(["The ferries carried more passengers", "than before."], top=740, size=SIZE)

    for text in pages_of([*head, *prose], [*head, *prose]):
        assert ";" not in text


@pytest.mark.parametrize(
    "rows",
    [
        [["Introduction", "1"], ["The harbour", "4"], ["Lights", "9"], ["Index", "30"]],
        [["1.", "Read the gauge."], ["2.", "Write it down."], ["3.", "Sign the book."]],
        [["•", "a lamp and its"], ["•", "spare parts, and"], ["•", "a clock"]],
        [
            [
                "The keeper wrote down what the sea did on",
                "and nobody had asked him to do it, and he",
            ],
            [
                "each of the many days that he was there,",
                "had no other reason but that of a keeper,",
            ],
            [
                "and left his book where it was then found.",
                "which is that there was nothing else then.",
            ],
        ],
    ],
    ids=["contents", "steps", "bullets", "two columns of prose"],
)
def test_these_are_no_tables(rows):
    text = read(*table(rows, at=[72, 330], align="left"))

    assert ";" not in text


def test_wide_gaps_of_justified_lines_make_no_columns():
    gaps = [
        ("The harbour was built for", "ships"),
        ("that no longer", "come, and"),
        ("it is kept by those", "who"),
        ("remember", "them, of whom there"),
    ]
    lines = [
        line
        for number, (left, right) in enumerate(gaps)
        for line in (
            (SIZE, 72.0, 700 - 12.0 * number, left),
            (SIZE, 72 + width(left) + 8, 700 - 12.0 * number, right),
        )
    ]

    assert ";" not in read(*lines)


@given(
    st.lists(
        st.lists(st.none() | st.integers(1, 99_999), min_size=3, max_size=3).filter(any),
        min_size=3,
        max_size=12,
    ).filter(lambda rows: all(map(any, zip(*rows, strict=True))))
)
@settings(max_examples=40, deadline=None)
def test_every_number_is_named_by_its_column(numbers):
    names = ["North", "South", "East"]
    rows = [
        [f"Year {n}", *("" if v is None else f"{v:,}" for v in row)]
        for n, row in enumerate(numbers)
    ]

    text = read(*table([["", *names], *rows], at=[120, 250, 350, 450], align="right"))

    for row, line in zip(rows, text.split("\n")[1:], strict=True):
        named = [f"{name}: {cell}" for name, cell in zip(names, row[1:], strict=True) if cell]
        assert line == "; ".join([row[0], *named])


WORDS = [
    "a",
    "Total",
    "14,210",
    "$",
    "1.",
    "2025",
    "A longer sentence that goes on for forty letters",
]
PLACES = st.sampled_from([72.0, 73.0, 150.0, 300.0, 310.0, 400.0])
HEIGHTS = st.integers(0, 60).map(lambda step: 780 - 12.0 * (step // 2) - 4 * (step % 2))


@given(
    st.lists(
        st.tuples(st.sampled_from([8.0, 10.0, 16.0]), PLACES, HEIGHTS, st.sampled_from(WORDS)),
        max_size=30,
    )
)
@settings(max_examples=80, deadline=None)
def test_no_letter_is_lost_or_said_twice_wherever_words_stand(lines):
    document = pypdfium2.PdfDocument(make_pdf([text_page(*lines)]))
    pdfium_page = document[0].get_textpage()
    raw, page = pdfium_page.get_text_range(), read_page(PageLines.of(pdfium_page))
    document.close()

    units = [unit for unit in page.units if unit >= 0]
    assert len(set(units)) == len(units)
    said = sorted(raw[unit] for unit in units if not raw[unit].isspace())
    assert said == sorted(letter for letter in raw if not letter.isspace())
