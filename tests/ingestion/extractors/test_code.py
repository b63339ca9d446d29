from __future__ import annotations

from itertools import pairwise

import pytest

from ingestion.extractors.code import extract
from kb_project.text.code import is_code

JAVA = """\
public class VectorSlicer extends AbstractSlicer {
    private final int[] sortedIndices;
    public void setWeightCol(String weightCol) {
        this.WEIGHT_COL = weightCol;
    }
}
"""


@pytest.mark.parametrize(
    "text",
    [
        JAVA,
        "def run_target(self):\n    return self.target\n",
        "#include <stdio.h>\nint main() {\n  return 0;\n}",
        "use std::io;\nfn main() {\n    let x = 1;\n}",
    ],
)
def test_programs_are_recognised(text):
    assert is_code(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Marley was dead: to begin with.\nThere is no doubt whatever about that.",
        "Dear all;\nwe meet at noon.\nPlease bring the minutes.\nBest regards",
        "- one item\n- another item\n- a third",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "朱元璋打败了陈友谅。\n他成了皇帝。",
    ],
)
def test_prose_lists_and_tables_are_no_programs(text):
    assert not is_code(text)


def test_symbols_are_mentioned_where_they_stand():
    found = extract(JAVA)

    surfaces = {m.surface for m in found.mentions}
    assert {"VectorSlicer", "AbstractSlicer", "sortedIndices", "setWeightCol"} <= surfaces
    assert "WEIGHT_COL" in surfaces
    assert "public" not in surfaces
    assert all(JAVA[m.start : m.end] == m.surface for m in found.mentions)


def test_a_definition_uses_what_its_line_names():
    found = extract(JAVA)

    facts = [
        (found.mentions[r.source].surface, r.predicate, found.mentions[r.target].surface)
        for r in found.relations
    ]
    assert ("VectorSlicer", "uses", "AbstractSlicer") in facts


def test_mentions_never_overlap():
    mentions = extract(JAVA * 3).mentions

    assert all(a.end <= b.start for a, b in pairwise(mentions))


def test_code_without_symbols_has_none():
    assert extract("x = 1\ny = 2\n").mentions == ()
