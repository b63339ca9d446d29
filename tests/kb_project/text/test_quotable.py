from __future__ import annotations

import pytest

from kb_project.text.quotable import quotable
from kb_project.text.regions import Region, RegionKind

SENTENCE = "Ada Lind keeps the light of Skarrow."


@pytest.mark.parametrize("kind", list(RegionKind))
def test_what_is_no_prose_is_not_quoted(kind: RegionKind):
    other = "Olaf Brekke rows oil to Skarrow."
    regions = [Region(kind, 0, len(other))]

    assert [one.said for one in quotable(f"{other}\n\n{SENTENCE}", regions)] == [SENTENCE]


@pytest.mark.parametrize(
    "said", ["Chapter 8.", "THE DEBIAN ARCHIVES 6.5.", "6.1.1.", "The keepers:"]
)
def test_what_says_nothing_is_not_quoted(said: str):
    assert [one.said for one in quotable(f"{said}\n\n{SENTENCE}")] == [SENTENCE]


def test_a_sentence_that_a_page_number_interrupts_is_no_quote():
    text = "Ada Lind keeps the\n4\nlight of Skarrow. Olaf rows to her in May."

    found = quotable(text, [Region(RegionKind.RUNNING, 19, 20)])

    assert [one.said for one in found] == ["Olaf rows to her in May."]


def test_chinese_is_quoted():
    assert [one.said for one in quotable("他昨天走了。灯塔燃烧油。")] == [
        "他昨天走了。",
        "灯塔燃烧油。",
    ]
