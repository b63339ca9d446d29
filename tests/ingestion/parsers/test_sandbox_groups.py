"""Several files read by one child: what happens at one of them happens to it alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingestion.parsers import Limits, ParsedDocument, wire
from ingestion.parsers.document import MIB
from ingestion.parsers.sandbox import ParserSandbox
from ingestion.parsers.wire import Request
from kb_project.errors import ParseError
from tests.ingestion.parsers.samples import make_xlsx
from tests.ingestion.parsers.test_sandbox import LONG_HTML, children_of, host_of
from tests.patience import wait_until


@pytest.fixture
def files(tmp_path: Path):
    """Write contents under their names; a path never shows the name."""

    def write_all(**contents: bytes) -> list[tuple[Path, str]]:
        found = []
        for number, (name, data) in enumerate(contents.items()):
            path = tmp_path / str(number)
            path.write_bytes(data)
            found.append((path, name.replace("_", ".")))
        return found

    return write_all


def texts(found: list[ParsedDocument | ParseError]) -> list[str]:
    return [one.code if isinstance(one, ParseError) else one.text for one in found]


def test_documents_come_back_in_their_order(files, sandbox: ParserSandbox):
    group = files(a_txt=b"one", b_md=b"# Two\n\nTwo.", c_txt=b"three")

    found = sandbox.parse_many(group)

    assert [isinstance(one, ParsedDocument) for one in found] == [True] * 3
    assert texts(found)[::2] == ["one", "three"]
    assert found == [sandbox.parse(path, name=name) for path, name in group]


def test_nothing_to_read_is_read_at_once(sandbox: ParserSandbox):
    assert sandbox.parse_many([]) == []


def test_how_many_are_read_is_told_on_the_way(files, sandbox: ParserSandbox):
    told: list[int] = []

    sandbox.parse_many(files(a_txt=b"one", b_txt=b"", c_txt=b"three"), on_read=told.append)

    assert told == [1, 2, 3]


def test_a_file_that_is_refused_stops_no_other(files, sandbox: ParserSandbox):
    found = sandbox.parse_many(files(a_txt=b"one", b_pdf=b"%PDF-1.7 torn", c_txt=b"three"))

    assert texts(found)[::2] == ["one", "three"]
    assert isinstance(found[1], ParseError)


def test_a_file_that_is_missing_stops_no_other(files, sandbox: ParserSandbox):
    group = files(a_txt=b"one", b_txt=b"two", c_txt=b"three")
    group[1][0].unlink()

    found = sandbox.parse_many(group)

    assert texts(found) == ["one", "file_missing", "three"]


def test_time_is_limited_for_each_file(files, sandbox: ParserSandbox):
    group = files(a_txt=b"one", b_html=3 * LONG_HTML.encode(), c_txt=b"three")

    found = sandbox.parse_many(group, limits=Limits(seconds=2))

    assert texts(found) == ["one", "parse_timeout", "three"]
    assert isinstance(found[1], ParseError)
    assert "b.html" in found[1].happened


def test_memory_is_limited_for_each_file(files, sandbox: ParserSandbox):
    group = files(a_txt=b"one", b_txt=b"0123456789" * 2_000_000, c_txt=b"three")

    found = sandbox.parse_many(group, limits=Limits(memory_bytes=24 * MIB))

    assert texts(found) == ["one", "parse_memory", "three"]


def test_native_code_that_dies_costs_one_document_of_a_group(files, sandbox: ParserSandbox):
    rows = [[f"cell {row} {column}" for column in range(10)] for row in range(5_000)]
    group = files(a_txt=b"one", b_xlsx=make_xlsx({"A": rows}), c_txt=b"three")

    found = sandbox.parse_many(group, limits=Limits(memory_bytes=2 * MIB))

    assert texts(found)[::2] == ["one", "three"]
    assert isinstance(found[1], ParseError)


def test_many_bad_files_in_a_row_are_each_answered(files, sandbox: ParserSandbox):
    slow = 3 * LONG_HTML.encode()
    group = files(a_html=slow, b_html=slow, c_txt=b"three", d_html=slow)

    found = sandbox.parse_many(group, limits=Limits(seconds=2))

    assert texts(found) == ["parse_timeout", "parse_timeout", "three", "parse_timeout"]


def test_who_stops_half_way_leaves_no_child_behind(files):
    def stop(_read: int) -> None:
        raise KeyboardInterrupt

    with ParserSandbox() as sandbox:
        with pytest.raises(KeyboardInterrupt):
            sandbox.parse_many(files(a_txt=b"one", b_html=LONG_HTML.encode()), on_read=stop)

        wait_until(lambda: children_of(host_of(sandbox)) == [])


def test_a_host_that_dies_is_replaced_in_the_middle_of_a_group(files):
    with ParserSandbox() as sandbox:
        sandbox.parse_many(files(a_txt=b"one"))
        killed: list[int] = []

        def kill_once(read: int) -> None:
            if not killed:
                killed.append(read)
                assert sandbox._host is not None
                sandbox._host.kill()
                sandbox._host.wait()

        found = sandbox.parse_many(
            files(a_txt=b"one", b_txt=b"two", c_txt=b"three"), on_read=kill_once
        )

    assert texts(found) == ["one", "two", "three"]


def test_names_of_any_language_and_length_fit_one_request(files, sandbox: ParserSandbox):
    [(path, _)] = files(a_txt=b"one")

    found = sandbox.parse_many([(path, "名" * 490 + f"{number}.txt") for number in range(32)])

    assert texts(found) == ["one"] * 32


# --- what is sent ---------------------------------------------------------------------------------
def test_a_request_of_several_files_survives_the_journey():
    request = Request("parse", "a.txt", Limits(), more=("名.md",))

    assert Request.from_bytes(request.to_bytes()) == request
    assert [one.name for one in request.each()] == ["a.txt", "名.md"]
    assert all(one.more == () for one in request.each())


def test_a_reply_says_how_long_it_is():
    reply = wire.DOCUMENT + json.dumps({}).encode()

    framed = wire.framed(reply)

    assert int.from_bytes(framed[: wire.HEADER_BYTES], "big") == len(reply)
    assert framed[wire.HEADER_BYTES :] == reply
