from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers.markdown import find_headings, plain_title, split_front_matter
from kb_project.text.statements import statements

SOURCE = """\
# Handbook

Intro with `# no heading`.

```python
# a comment, not a heading
```

Going to sea
------------

    # indented code

## 2.1 The **gallery** door ##

> ### Quoted
"""


def titles(text):
    return [(level, title) for level, title, _ in find_headings(text)]


def test_headings_are_those_of_the_block_structure():
    assert titles(SOURCE) == [
        (1, "Handbook"),
        (2, "Going to sea"),
        (2, "2.1 The gallery door"),
        (3, "Quoted"),
    ]


def test_a_heading_starts_where_its_line_starts():
    lines = [SOURCE[start:].split("\n")[0] for _, _, start in find_headings(SOURCE)]

    assert lines == ["# Handbook", "Going to sea", "## 2.1 The **gallery** door ##", "> ### Quoted"]


def test_the_source_is_the_text(read):
    document = read(SOURCE.encode(), "handbook.md")

    assert document.text == SOURCE.rstrip()
    assert document.title == "Handbook"
    assert document.media_type == "text/markdown"


def test_a_first_heading_among_equals_is_not_the_title(read):
    assert read(b"# Introduction\n\nA.\n\n# Methods\n\nB.\n", "study.md").title == "study"


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("A [link](http://x.org/a_b) here", "A link here"),
        ("`snake_case` and __bold__ and _it_", "snake_case and bold and it"),
        (r"Not \*bold\* <a name='x'></a>", "Not *bold*"),
        ("![logo](logo.png) Name", "logo Name"),
    ],
)
def test_marks_are_not_part_of_a_title(source, title):
    assert plain_title(source) == title


def test_badges_are_no_part_of_a_title_and_state_nothing(read):
    badge = "[![Build](https://ci.example/b.svg)](https://ci.example)"
    source = (
        f"Lamp {badge}\n====\n\n{badge} {badge}\n\n![The lamp](l.png)\n\nIt burns nothing but oil."
    )

    document = read(source.encode(), "README.md")

    assert document.title == "Lamp"
    told = [one.said for one in statements(document.text, document.regions) if one.states]
    assert told == ["It burns nothing but oil."]


def test_front_matter_becomes_metadata(read):
    source = (
        '---\ntitle: "The Plan"\nauthor: Ada\ntags:\n  - sea\n  - ice\nodd: [a, "b"]\n---\n\nBody.'
    )

    document = read(source.encode(), "plan.md")

    assert document.title == "The Plan"
    assert document.metadata == {"author": "Ada", "tags": "sea, ice", "odd": "a, b"}
    assert document.text == "Body."


@pytest.mark.parametrize(
    "text",
    ["---\n\nA rule, then text.\n\n---\n", "---\nno fields here\n---\nBody", "--- \nopen: 1\n"],
)
def test_a_rule_is_not_front_matter(text):
    assert split_front_matter(text) == ({}, text)


def test_a_file_of_front_matter_alone_is_still_text(read):
    assert "owner: Ada" in read(b"---\nowner: Ada\n---\n", "only.md").text


@given(st.lists(st.text("abc #-=*`>[]()\n\t", max_size=30), max_size=20))
def test_every_heading_lies_on_a_line_that_holds_it(lines):
    text = "\n".join(lines)

    for _, title, start in find_headings(text):
        assert start == 0 or text[start - 1] == "\n"
        assert plain_title(title)[:1] in text[start:] or not plain_title(title)
