from __future__ import annotations

import pytest

from ingestion.extractors.chinese import extract
from ingestion.extractors.extraction import STATED


def surfaces(text: str) -> dict[str, str]:
    return {m.surface: m.type for m in extract(text).mentions}


def facts(text: str) -> list[tuple[str, str, str]]:
    found = extract(text)
    return [
        (found.mentions[r.source].surface, r.predicate, found.mentions[r.target].surface)
        for r in found.relations
        if r.kind == STATED
    ]


@pytest.mark.parametrize(
    ("text", "name", "type_name"),
    [
        ("朱元璋打败了陈友谅。", "朱元璋", "person"),
        ("农民朱五四的妻子陈氏生下了一个男婴。", "朱五四", "person"),
        ("他住在安徽的一个村子。", "安徽", "place"),
        ("他读过《明史》。", "明史", "work"),
        ("查尔斯·狄更斯写了一本书。", "查尔斯·狄更斯", "person"),
        ("他在Google工作。", "Google", "name"),
    ],
)
def test_names_are_found(text, name, type_name):
    assert surfaces(text)[name] == type_name


@pytest.mark.parametrize("text", ["他明白了。", "一个和尚。", "英雄是二哥。", "", "。。。"])
def test_common_words_are_no_names(text):
    assert surfaces(text) == {}


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("朱元璋打败了陈友谅。", ("朱元璋", "打败了", "陈友谅")),
        ("朱五四的妻子陈氏很勤劳。", ("朱五四", "的妻子", "陈氏")),
        ("朱五四是朱元璋的父亲。", ("朱五四", "是…的父亲", "朱元璋")),
    ],
)
def test_facts_are_what_stands_between_two_names(text, fact):
    assert fact in facts(text)


@pytest.mark.parametrize(
    "text",
    [
        "黑龙江省委决定支持哈尔滨。",
        "朱元璋是安徽最有名的皇帝。",
        "朱元璋去了安徽的村子。",
        "朱元璋唱过《明史》之前的歌。",
    ],
)
def test_a_name_that_only_describes_a_noun_is_linked_to_nothing(text):
    assert facts(text) == []


def test_a_comma_parts_two_names():
    assert facts("朱元璋走了，陈友谅来了。") == []


def test_offsets_cut_the_names_out_of_the_text():
    text = "从前，朱元璋在安徽放牛。\n后来朱元璋到了濠州。"

    found = extract(text)

    assert all(text[m.start : m.end] == m.surface for m in found.mentions)
    assert [m.surface for m in found.mentions].count("朱元璋") == 2


def test_a_foreign_name_of_three_parts_is_one_name():
    assert surfaces("他叫约翰·罗纳德·托尔金。") == {"约翰·罗纳德·托尔金": "person"}
