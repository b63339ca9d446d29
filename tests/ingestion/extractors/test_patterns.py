from __future__ import annotations

from itertools import pairwise

import pytest

from ingestion.extractors.patterns import extract_names, extract_symbols
from kb_project.text.regions import is_code


def surfaces(text: str, language: str) -> list[str]:
    return [mention.surface for mention in extract_names(text, language).mentions]


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("fr", "Hier, Jean de La Fontaine est venu à Paris.", ["Jean de La Fontaine", "Paris"]),
        ("es", "Ayer vino Gabriel García Márquez a Bogotá.", ["Gabriel García Márquez", "Bogotá"]),
        ("de", "Gestern kam Johann von Goethe mit dem Zug an.", ["Johann von Goethe"]),
        ("other", "Вчера приехал Лев Толстой.", ["Лев Толстой"]),
        ("ja", "昨日『吾輩は猫である』を読んだ。", ["吾輩は猫である"]),
        ("fr", "Le chat dort.", []),
    ],
)
def test_names_are_runs_of_capitals_or_quoted(language, text, names):
    assert surfaces(text, language) == names


def test_names_of_one_sentence_are_linked():
    found = extract_names("Hier Jean Valjean est venu à Paris.", "fr")

    assert [(r.source, r.target) for r in found.relations] == [(0, 1)]


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
    found = extract_symbols(JAVA)

    surfaces = {m.surface for m in found.mentions}
    assert {"VectorSlicer", "AbstractSlicer", "sortedIndices", "setWeightCol"} <= surfaces
    assert "WEIGHT_COL" in surfaces
    assert "public" not in surfaces
    assert all(JAVA[m.start : m.end] == m.surface for m in found.mentions)


def test_a_definition_uses_what_its_line_names():
    found = extract_symbols(JAVA)

    facts = [
        (found.mentions[r.source].surface, r.predicate, found.mentions[r.target].surface)
        for r in found.relations
    ]
    assert ("VectorSlicer", "uses", "AbstractSlicer") in facts


def test_mentions_never_overlap():
    mentions = extract_symbols(JAVA * 3).mentions

    assert all(a.end <= b.start for a, b in pairwise(mentions))


def test_code_without_symbols_has_none():
    assert extract_symbols("x = 1\ny = 2\n").mentions == ()
