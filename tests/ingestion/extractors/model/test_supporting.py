"""Whether a quote speaks of what a fact connects."""

from __future__ import annotations

import pytest

from ingestion.extractors.model.locate import folded
from ingestion.extractors.model.supporting import Passage

TEXT = (
    "Ada Lind was born in Orran in 1840. She married Bo Strand there. The Harbour Company hired"
    " Finn Dahl. The company paid him well. Gulls nest on Tern Rock. Software in the Public"
    " Interest met in May. Later SPI elected Elin Moe."
)
KEEPS = Passage(folded(TEXT))


def supports(quote: str, *ends: str, passage: Passage = KEEPS) -> bool:
    start = passage.text.original.index(quote)
    return passage.supports((start, start + len(quote)), *ends)


@pytest.mark.parametrize(
    ("quote", "ends"),
    [
        ("Ada Lind was born in Orran", ("Ada Lind", "Orran")),
        ("born in Orran", ("Ada Lind", "Orran")),
        ("She married Bo Strand", ("Ada Lind", "Bo Strand")),
        ("married Bo Strand there", ("Ada Lind", "Orran")),
        ("hired Finn Dahl", ("The Harbour Company", "Dahl")),
        ("The company paid him", ("Harbour Company", "Finn Dahl")),
        ("Later SPI elected Elin Moe", ("Software in the Public Interest", "Moe")),
        ("Later SPI elected Elin Moe", ("SPI", "Elin Moe")),
    ],
)
def test_a_quote_that_names_or_refers_to_both_supports_the_fact(quote, ends):
    assert supports(quote, *ends)


@pytest.mark.parametrize(
    ("quote", "ends"),
    [
        ("Gulls nest on Tern Rock", ("Ada Lind", "Bo Strand")),
        ("Gulls nest on Tern Rock", ("Ada Lind", "Tern Rock")),
        ("She married Bo Strand", ("Ada Lind", "Finn Dahl")),
        ("Later SPI elected Elin Moe", ("Ada Lind", "Elin Moe")),
    ],
)
def test_words_of_the_passage_about_something_else_do_not(quote, ends):
    assert not supports(quote, *ends)


def test_a_name_that_the_passage_spells_nowhere_cannot_be_checked():
    chinese = Passage(folded("朱元璋在南京建立了明朝。他的儿子朱棣迁都北京。"))

    assert supports("在南京建立了明朝", "Zhu Yuanzhang", "Nanjing", passage=chinese)


def test_a_subject_that_chinese_leaves_out_is_the_one_before():
    chinese = Passage(folded("朱元璋在南京称帝。国号大明。海鸥飞过长江。"))

    assert supports("国号大明", "朱元璋", "大明", passage=chinese)
    assert not supports("在南京称帝", "朱元璋", "长江", passage=chinese)
