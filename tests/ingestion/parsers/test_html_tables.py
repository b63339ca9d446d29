"""Tables of web pages: which cells name columns or rows, and what merged cells belong to."""

from __future__ import annotations

from tests.ingestion.parsers.samples import make_docx, word_table


def lines(read, table: str) -> list[str]:
    document = read(f"<p>Above.</p><table>{table}</table>".encode(), "t.html")
    return document.text.split("\n")[2:]


def rows(*cells: str) -> str:
    """Rows of ``td``; cells are parted by bars."""
    return "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row.split("|")) + "</tr>" for row in cells
    )


def test_two_columns_without_names_are_things_and_what_they_are(read):
    assert lines(read, rows("exim.8|a manual page", "filter.txt|the language", "spec|all")) == [
        "exim.8: a manual page",
        "filter.txt: the language",
        "spec: all",
    ]


def test_a_first_row_in_bold_names_columns(read):
    assert lines(read, rows("<b>Desk</b>|<b>Call</b>", "Reception|100", "Yard|<b>112</b>")) == [
        "Desk: Reception; Call: 100",
        "Desk: Yard; Call: 112",
    ]


def test_names_of_rows_stand_before_their_values(read):
    table = (
        "<tr><th>Date</th><td>1 May</td></tr><tr><th>Chair</th><td>Ada</td><td>until noon</td></tr>"
    )

    assert lines(read, table) == ["Date: 1 May", "Chair: Ada; until noon"]


def test_three_columns_without_marks_are_named_by_words(read):
    assert lines(read, rows("Port|Keeper|Boats", "Voar|Ada|4")) == [
        "Port: Voar; Keeper: Ada; Boats: 4"
    ]


def test_a_row_that_shares_a_cell_with_the_next_names_nothing(read):
    assert lines(read, rows("dplyr|Grammar|HTML", "zoo|Series|HTML")) == [
        "dplyr; Grammar; HTML",
        "zoo; Series; HTML",
    ]


def test_a_cell_over_two_rows_is_in_both(read):
    table = (
        "<tr><th>Place</th><th>Name</th><th>Call</th></tr>"
        "<tr><td rowspan=2>Workshop</td><td>Ada</td><td>211</td></tr>"
        "<tr><td>Bo</td><td>212</td></tr>"
    )

    assert lines(read, table) == [
        "Place: Workshop; Name: Ada; Call: 211",
        "Place: Workshop; Name: Bo; Call: 212",
    ]


def test_two_rows_of_names_are_read_together(read):
    table = (
        "<tr><th rowspan=2>System</th><th colspan=2>Access</th><th rowspan=2>Days</th></tr>"
        "<tr><th>Office</th><th>Yard</th></tr>"
        "<tr><td>Payroll</td><td>Lena</td><td>Paul</td><td>2</td></tr>"
        "<tr><td>Crane</td><td colspan=2>Tom</td><td>5</td></tr>"
    )

    assert lines(read, table) == [
        "System: Payroll; Access Office: Lena; Access Yard: Paul; Days: 2",
        "System: Crane; Access Office, Access Yard: Tom; Days: 5",
    ]


def test_names_of_columns_may_change_within_a_table(read):
    table = (
        "<tr><th>Port</th><th>Boats</th></tr><tr><td>Voar</td><td>4</td></tr>"
        "<tr><th>Light</th><th>Height</th></tr><tr><td>Skarrow</td><td>31 m</td></tr>"
    )

    assert lines(read, table) == ["Port: Voar; Boats: 4", "Light: Skarrow; Height: 31 m"]


def test_names_without_rows_are_text(read):
    table = (
        "<tr><th>Port</th><th>Boats</th></tr><tr><td>Voar</td><td>4</td></tr>"
        "<tr><th>Light</th><th>Height</th></tr>"
    )

    assert lines(read, table) == ["Port: Voar; Boats: 4", "Light; Height"]


def test_where_all_cells_are_names_the_first_row_names_the_columns(read):
    table = "<tr><th>A-B</th><th>C-D</th></tr><tr><th>Accounts</th><th>Cash</th></tr>"

    assert lines(read, table) == ["A-B: Accounts; C-D: Cash"]


def test_a_cell_that_spans_the_first_columns_names_its_row(read):
    table = (
        "<tr><th>Item</th><th>Count</th><th>Amount</th></tr>"
        "<tr><td>Filter</td><td>6</td><td>€111</td></tr>"
        "<tr><td colspan=2>Total due</td><td>€132</td></tr>"
    )

    assert lines(read, table) == ["Item: Filter; Count: 6; Amount: €111", "Total due; Amount: €132"]


def test_spans_of_millions_cost_nothing(read):
    cell = "<td rowspan=65534 colspan=99999>x</td>"

    assert read(f"<table>{f'<tr>{cell}{cell}</tr>' * 300}</table>".encode(), "t.html").text


def test_a_form_in_word_has_no_names_of_columns(read):
    form = word_table([["Invoice number", "INV-2025-0187"], ["Due", "3 July 2025"]])
    minutes = word_table(
        [["Chair:", "Ines", "Place:", "Quay"], ["Clerk:", "Paul", "Time:", "Noon"]]
    )
    mixed = word_table([["Client", "Northgate"], ["Fee", "€48,000"], ["Contact", "Ann"]])

    assert read(make_docx(form), "f.docx").text == "Invoice number: INV-2025-0187\nDue: 3 July 2025"
    assert read(make_docx(minutes), "m.docx").text == (
        "Chair: Ines; Place: Quay\nClerk: Paul; Time: Noon"
    )
    assert read(make_docx(mixed), "c.docx").text == "Client: Northgate\nFee: €48,000\nContact: Ann"
