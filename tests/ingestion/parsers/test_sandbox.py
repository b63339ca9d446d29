"""The sandbox, with real processes: what happens to a child happens to one document alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ingestion.parsers import Limits, wire
from ingestion.parsers.document import MIB
from ingestion.parsers.sandbox import ParserSandbox, default_sandbox
from kb_project.errors import ParseError, UnavailableError
from tests.ingestion.parsers.conftest import require_sound
from tests.ingestion.parsers.samples import make_pdf, make_xlsx, text_page
from tests.patience import wait_until

LONG_HTML = "<html><body>" + "<p>word <b>bold</b> word</p>" * 150_000


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def host_of(sandbox: ParserSandbox) -> int:
    assert sandbox._host is not None
    return sandbox._host.pid


@pytest.fixture
def own_sandbox(write):
    """A sandbox that a test may break, already warm."""
    with ParserSandbox() as sandbox:
        sandbox.parse(write(b"warm"), name="warm.txt")
        yield sandbox


def test_a_document_comes_back_as_it_was_read(write, read, sandbox):
    data = make_xlsx({"Boats": [["Name", "Town"], ["Petrel", "Voar 🎉"]]})

    document = sandbox.parse(write(data), name="fleet.xlsx")

    require_sound(document)
    assert document == read(data, "fleet.xlsx")


def test_time_is_limited(write, sandbox):
    with pytest.raises(ParseError) as caught:
        sandbox.parse(write(LONG_HTML.encode()), name="slow.html", limits=Limits(seconds=0.2))

    assert caught.value.code == "parse_timeout"
    assert "0.2 seconds" in caught.value.happened


def test_a_child_that_ran_out_of_time_is_gone(write, own_sandbox):
    with pytest.raises(ParseError):
        own_sandbox.parse(write(LONG_HTML.encode()), name="s.html", limits=Limits(seconds=0.2))

    wait_until(lambda: children_of(host_of(own_sandbox)) == [])


def test_memory_is_limited(write, sandbox):
    with pytest.raises(ParseError) as caught:
        sandbox.parse(
            write(b"0123456789" * 2_000_000), name="b.txt", limits=Limits(memory_bytes=24 * MIB)
        )

    assert caught.value.code == "parse_memory"
    assert "24 MB" in caught.value.happened


def test_native_code_that_is_refused_memory_costs_one_document(write, sandbox):
    rows = [[f"cell {row} {column}" for column in range(10)] for row in range(5_000)]

    with pytest.raises(ParseError) as caught:
        sandbox.parse(
            write(make_xlsx({"A": rows})), name="b.xlsx", limits=Limits(memory_bytes=2 * MIB)
        )

    assert caught.value.code in ("parse_memory", "parse_crashed")
    assert sandbox.parse(write(b"next"), name="n.txt").text == "next"


def test_a_child_killed_from_outside_costs_one_document(write, own_sandbox):
    errors: list[ParseError] = []

    def read_slowly() -> None:
        with pytest.raises(ParseError) as caught:
            own_sandbox.parse(write(LONG_HTML.encode()), name="slow.html")
        errors.append(caught.value)

    thread = threading.Thread(target=read_slowly)
    thread.start()
    wait_until(lambda: children_of(host_of(own_sandbox)))
    os.kill(children_of(host_of(own_sandbox))[0], signal.SIGSEGV)
    thread.join()

    assert [error.code for error in errors] == ["parse_crashed"]
    assert own_sandbox.parse(write(b"next"), name="n.txt").text == "next"


def test_a_killed_host_is_replaced_and_the_document_read(write, own_sandbox):
    before = host_of(own_sandbox)
    os.kill(before, signal.SIGKILL)

    assert own_sandbox.parse(write(b"again"), name="a.txt").text == "again"
    assert host_of(own_sandbox) != before


def test_a_host_killed_in_the_middle_is_replaced_and_the_document_read(write, own_sandbox):
    results: list[str] = []
    page = "<html><body>" + "<p>word <b>bold</b> word</p>" * 30_000

    def read_slowly() -> None:
        results.append(own_sandbox.parse(write(page.encode()), name="slow.html").text)

    thread = threading.Thread(target=read_slowly)
    thread.start()
    wait_until(lambda: children_of(host_of(own_sandbox)))
    child = children_of(host_of(own_sandbox))[0]
    os.kill(host_of(own_sandbox), signal.SIGKILL)
    thread.join()

    assert len(results) == 1
    wait_until(lambda: not is_running(child))


def test_many_threads_share_one_host(write, sandbox):
    paths = {f"text {number}": write(f"text {number}".encode()) for number in range(24)}
    results: dict[str, str] = {}

    def read_one(text: str) -> None:
        results[text] = sandbox.parse(paths[text], name="t.txt").text

    threads = [threading.Thread(target=read_one, args=(text,)) for text in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == {text: text for text in paths}


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_starts_a_host_of_its_own(write, own_sandbox):
    path = write(b"shared")
    ours = host_of(own_sandbox)
    outcome, outcome_in = os.pipe()

    pid = os.fork()
    if pid == 0:
        try:
            text = own_sandbox.parse(path, name="s.txt").text
            os.write(outcome_in, f"{text} {host_of(own_sandbox) != ours}".encode())
            own_sandbox.close()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)

    assert os.read(outcome, 100) == b"shared True"
    assert own_sandbox.parse(path, name="s.txt").text == "shared"
    assert host_of(own_sandbox) == ours
    os.close(outcome)
    os.close(outcome_in)


PROGRAM = """
import sys
from pathlib import Path
from ingestion.parsers.sandbox import ParserSandbox
sandbox = ParserSandbox()
sandbox.parse(Path(sys.argv[1]), name="a.txt")
print(sandbox._host.pid, flush=True)
sys.stdin.read()
"""


def test_the_host_ends_with_the_process_that_started_it_however_that_ends(write):
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(write(b"text"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    with program:
        assert program.stdout is not None
        host = int(program.stdout.readline())
        assert is_running(host)
        program.kill()

    wait_until(lambda: not is_running(host))


def test_closing_ends_the_host(write):
    sandbox = ParserSandbox()
    sandbox.parse(write(b"text"), name="a.txt")
    host = host_of(sandbox)

    sandbox.close()

    assert not is_running(host)


def test_the_readers_are_given_no_secret_of_the_environment(own_sandbox):
    environment = Path(f"/proc/{host_of(own_sandbox)}/environ").read_bytes()

    names = {entry.partition(b"=")[0] for entry in environment.split(b"\x00") if entry}
    assert names <= {b"PYTHONPATH", b"LC_ALL"}


def test_a_reader_is_a_fork_of_the_host_and_loads_nothing(write, own_sandbox):
    """To start an interpreter with every reader takes half a second for each document."""

    def read_slowly() -> None:
        with pytest.raises(ParseError):
            own_sandbox.parse(write(LONG_HTML.encode()), name="slow.html")

    thread = threading.Thread(target=read_slowly)
    thread.start()
    wait_until(lambda: children_of(host_of(own_sandbox)))
    [child] = children_of(host_of(own_sandbox))
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in (host_of(own_sandbox), child)]
    os.kill(child, signal.SIGKILL)
    thread.join()

    assert commands[0] == commands[1] != b""


def test_pages_are_drawn_and_boxes_found_in_the_sandbox(write, sandbox):
    path = write(make_pdf([text_page((12, 72, 700, "The gallery door"))]))

    assert sandbox.render_page(path, 1, 200).startswith(b"\x89PNG")
    ((x0, y0, x1, y1),) = sandbox.page_boxes(path, 1, 16, 4, 11)
    assert 0 < x0 < x1 < 1
    assert 0 < y0 < y1 < 1


def test_a_page_that_does_not_exist_is_an_error_not_an_empty_picture(write, sandbox):
    path = write(make_pdf([text_page((12, 72, 700, "One page"))]))

    with pytest.raises(ParseError) as caught:
        sandbox.render_page(path, 7, 200)

    assert caught.value.code == "no_such_page"


def test_a_host_that_does_not_start_is_said_and_can_be_tried_again(write, monkeypatch):
    path = write(b"text")
    with ParserSandbox() as sandbox:
        with monkeypatch.context() as broken:
            broken.setattr(sys, "executable", "/bin/false")
            with pytest.raises(UnavailableError) as caught:
                sandbox.parse(path, name="a.txt")

        assert caught.value.code == "parser_unavailable"
        assert caught.value.retryable
        assert sandbox.parse(path, name="a.txt").text == "text"


def test_a_missing_file_is_said(tmp_path, sandbox):
    with pytest.raises(ParseError) as caught:
        sandbox.parse(tmp_path / "gone", name="report.pdf")

    assert caught.value.code == "file_missing"


def test_the_shared_sandbox_reads_too(write):
    assert default_sandbox().parse(write(b"shared"), name="s.txt").text == "shared"


GOOD: dict[str, object] = {
    "text": "text",
    "title": "t",
    "media_type": "text/plain",
    "pages": [[1, 0, 4]],
    "headings": [[1, "t", 0]],
    "regions": [],
    "metadata": {},
    "warnings": [],
    "parser": "plain",
    "encoding": None,
}


@pytest.mark.parametrize(
    "change",
    [
        {"text": "nul\x00"},
        {"text": "\ud800"},
        {"text": 7},
        {"pages": [[1, 0, 99]]},
        {"pages": [[1, 4, 0]]},
        {"pages": [[1, 0]]},
        {"headings": [[1, "t", -1]]},
        {"headings": [[1, None, 0]]},
        {"regions": [["code", 0, 9]]},
        {"metadata": []},
        {"metadata": {"a": 1}},
    ],
)
def test_a_reply_is_not_believed(change):
    import_error = (ValueError, TypeError, KeyError, AttributeError)
    data = json.dumps(GOOD | change).encode()

    with pytest.raises(import_error):
        wire.document_from_bytes(data)


def test_a_good_reply_is_believed():
    assert wire.document_from_bytes(json.dumps(GOOD).encode()).text == "text"
