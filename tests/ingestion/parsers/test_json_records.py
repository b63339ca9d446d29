from __future__ import annotations

import json

from tests.ingestion.parsers.conftest import headed

REGISTER = {
    "register": "Projects",
    "open": True,
    "nothing": None,
    "projects": [
        {
            "name": "Lodestar",
            "lead": {"name": "Ada", "town": "Bergen"},
            "tags": ["glass", "sea"],
            "steps": [{"day": "2024-03-14", "what": "approved"}],
            "cost": 186400.10,
        },
        {"name": "Candle", "cost": 12},
    ],
}


def as_json(value) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def test_an_object_is_paths_and_values_and_its_records_are_sections(read):
    document = read(as_json(REGISTER), "register.json")

    assert document.text == (
        "register: Projects\nopen: true\n\nprojects\n\nLodestar\n\n"
        "lead.name: Ada\nlead.town: Bergen\ntags: glass, sea\n"
        "steps[1]: day: 2024-03-14; what: approved\ncost: 186400.1\n\nCandle\n\ncost: 12"
    )
    assert headed(document) == ["projects", "Lodestar", "Candle"]


def test_numbers_keep_their_digits_and_repeated_keys_all_stay(read):
    document = read(b'{"a": 1.10, "b": 12345678901234567890123, "a": 2}', "n.json")

    assert document.text == "a: 1.10\nb: 12345678901234567890123\na: 2"


def test_lines_of_json_are_records(read):
    records = [{"title": f"Note {n}", "text": f"Body {n}\nof two lines"} for n in range(3)]
    data = b"\n".join(map(as_json, records))

    document = read(data, "notes.jsonl")

    assert headed(document) == ["Note 0", "Note 1", "Note 2"]
    assert "Note 1\n\ntext: Body 1\nof two lines" in document.text


def test_one_broken_line_does_not_cost_the_others(read):
    data = b'{"a": "first"}\n{"a": "second"}\n{"a": broken\n{"a": "last"}\n'

    document = read(data, "n.jsonl")

    assert document.text.split("\n\n") == ["a: first", "a: second", '{"a": broken', "a: last"]
    assert document.warnings == ("Line 3 is not valid JSON and was kept as it is.",)


def test_what_is_not_json_is_read_as_text(read):
    document = read(b'{"a": 1,\n "b": ', "cut.json")

    assert document.text == '{"a": 1,\n "b":'
    assert "is not valid JSON" in document.warnings[0]


def test_depth_is_no_danger(read):
    document = read(b"[" * 100_000 + b"]" * 100_000, "deep.json")

    assert "too deeply" in document.warnings[0]


def test_lists_in_lists_are_numbered(read):
    assert read(b'{"grid": [["a", "b"], ["c"]]}', "g.json").text == "grid[1]: a, b\ngrid[2]: c"


def test_a_bare_value_is_text(read):
    assert read(b'"only a string"', "s.json").text == "only a string"


def test_escaped_surrogates_and_nuls_cannot_reach_the_database(read):
    document = read(rb'{"a": "x\ud800y\u0000z"}', "s.json")

    assert document.text == "a: x\ufffdyz"
