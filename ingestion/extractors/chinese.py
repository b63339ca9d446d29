"""Chinese: names by jieba's tagger, facts by the words between two names.

jieba knows persons (nr), places (ns), organisations (nt) and other proper names (nz); titles of
works are in 《》. The tagger is a dictionary, with a hidden Markov model for unknown words.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import regex

from ingestion.extractors.extraction import (
    NAME,
    ORGANIZATION,
    PERSON,
    PLACE,
    STATED,
    WORK,
    Extraction,
    FoundMention,
    FoundRelation,
)
from ingestion.extractors.mentions import by_sentence, longest, mention, together
from ingestion.extractors.titles import titled
from kb_project.text.sentences import Span, sentence_spans

_TYPES: Final = {
    "nr": PERSON,
    "nrt": PERSON,
    "nrfg": PERSON,
    "ns": PLACE,
    "nt": ORGANIZATION,
    "nz": NAME,
}
_WORK: Final = regex.compile(r"《(?P<title>[^《》\n]{1,40})》")
_LATIN: Final = regex.compile(
    r"(?<![\p{Latin}\p{N}])\p{Lu}[\p{Latin}\p{N}]+(?:[ .-]\p{Lu}[\p{Latin}\p{N}]+)*"
)
_DOTS: Final = frozenset("·・")
_ROLE: Final = regex.compile(r"的(\p{Han}{1,4})")
_IS: Final = frozenset(("是", "就是", "便是", "系", "为"))
_BREAK: Final = regex.compile(r"[^\p{L}\p{N}\s]|\n")
_WORD: Final = regex.compile(r"\p{L}")
_FARTHEST: Final = 14
"""Characters between two names within which a verb is taken to link them."""
_LONGEST_PERSON: Final = 3
# The commonest family names: what the tagger takes for a person must begin with one, or it is a
# common noun (和尚, 明白).
_FAMILY_NAMES: Final = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾萧田董袁潘于蒋蔡余杜叶程苏魏吕丁任"
    "沈姚卢姜崔钟谭陆汪范金石廖贾夏韦傅方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔"
    "向汤温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕"
    "單单裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤阳时穆农司卓古吉缪简车项连芦麦"
    "褚娄窦戚岑景党宫费卜冷晏席卫米柏宗瞿桂全佟应臧闵苟邬边卞姬仇栾隋商刁沙荣巫寇桑郎甄丛仲虞敖巩"
    "佘池查麻苑迟邝張陳劉楊黃趙吳孫馬鄭謝韓馮鄧許蕭蔣葉蘇魯慕欧诸东独"
)
_DOUBLE_NAMES: Final = frozenset(
    ["司马", "欧阳", "诸葛", "上官", "夏侯", "东方", "独孤", "公孙", "慕容", "尉迟", "皇甫", "令狐"]
)
# Endings of words that the tagger takes for places or other names.
_NO_NAME: Final = regex.compile(r"(?:的|里|上|下|中|内|外|哥|弟|雄|话|人|事)$")


class Tagged(NamedTuple):
    start: int
    end: int
    tag: str


class _Tagger:
    """jieba with its own dictionary: takes a second and 150 MB on first use.

    Its cache file is not used: it would be read back, as code-like data, from a shared directory.
    """

    def __init__(self) -> None:
        self._loaded: Any = None
        self._loading = threading.Lock()

    def cut(self, text: str) -> Iterator[tuple[str, str]]:
        with self._loading:
            if self._loaded is None:
                # Importing jieba reads megabytes of probabilities: only done for Chinese text.
                import jieba
                from jieba import posseg

                jieba.setLogLevel(logging.WARNING)
                tokenizer = jieba.Tokenizer()
                tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
                tokenizer.initialized = True
                self._loaded = posseg.POSTokenizer(tokenizer)
        return ((word, tag) for word, tag in self._loaded.cut(text))


_tagger = _Tagger()


def extract(text: str, title: str = "") -> Extraction:
    """Names and facts of a text of moderate length (see ``windows``)."""
    tagged = list(_tags(text))
    mentions = titled(text, longest(_candidates(text, tagged)), title)
    sentences = sentence_spans(text)
    facts = [
        fact
        for span, members in by_sentence(mentions, sentences)
        for fact in _facts(text, tagged, [(index, mentions[index]) for index in members], span)
    ]
    known = {(fact.source, fact.target) for fact in facts}
    return Extraction(tuple(mentions), (*facts, *together(mentions, sentences, known)))


def _tags(text: str) -> Iterator[Tagged]:
    position = 0
    for word, tag in _tagger.cut(text):
        start = text.find(word, position)
        if start != -1:
            position = start + len(word)
            yield Tagged(start, position, tag)


def _candidates(text: str, tagged: Sequence[Tagged]) -> Iterator[FoundMention]:
    spans = [(match.span("title"), WORK, "quote") for match in _WORK.finditer(text)]
    spans += [(match.span(), NAME, "capitals") for match in _LATIN.finditer(text)]
    spans += [(span, PERSON, "dotted") for span in _dotted_names(text, tagged)]
    spans += [
        ((word.start, word.end), _TYPES[word.tag], "jieba")
        for word in _whole_names(tagged)
        if _is_name(text[word.start : word.end], word.tag)
    ]
    found = (mention(text, span, type_name, source) for span, type_name, source in spans)
    return (name for name in found if name)


def _dotted_names(text: str, tagged: Sequence[Tagged]) -> Iterator[Span]:
    """Transcribed foreign names have dots between their parts: 查尔斯·狄更斯."""
    start: int | None = None
    for before, word, after in zip(tagged, tagged[1:], tagged[2:], strict=False):
        if text[word.start : word.end] not in _DOTS:
            continue
        start = before.start if start is None else start
        if text[after.end : after.end + 1] not in _DOTS:
            yield start, after.end
            start = None


def _whole_names(tagged: Sequence[Tagged]) -> Iterator[Tagged]:
    """Tagged names; a family name split from its given name is joined to it again."""
    held: Tagged | None = None
    for word in tagged:
        if held is not None and _continues(held, word):
            held = Tagged(held.start, word.end, held.tag)
            continue
        if held is not None:
            yield held
        held = word if word.tag in _TYPES else None
    if held is not None:
        yield held


def _is_name(surface: str, tag: str) -> bool:
    if len(surface) < 2 or _NO_NAME.search(surface):
        return False
    if tag == "nr":
        longest_name = 4 if surface[:2] in _DOUBLE_NAMES else 3
        return surface[0] in _FAMILY_NAMES and len(surface) <= longest_name
    return tag != "nz" or len(surface) > 2


def _continues(held: Tagged, word: Tagged) -> bool:
    """朱 + 元璋; given names can be numbers, as in 朱五四."""
    return (
        held.tag == "nr"
        and word.tag in ("nr", "m", "t")
        and held.end == word.start
        and held.end - held.start == 1
        and word.end - held.start <= _LONGEST_PERSON
    )


def _facts(
    text: str,
    tagged: Sequence[Tagged],
    members: Sequence[tuple[int, FoundMention]],
    sentence: tuple[int, int],
) -> Iterator[FoundRelation]:
    """Facts between adjacent names of one sentence."""
    for (left, first), (right, second) in pairwise(members):
        if first.surface == second.surface:
            continue
        predicate = _predicate(text, tagged, first.end, second)
        if predicate:
            yield FoundRelation(left, right, predicate, *sentence, STATED, 1.0)


def _predicate(text: str, tagged: Sequence[Tagged], start: int, second: FoundMention) -> str:
    """The text between the names, if it is a verb or a role: 打败了, 的妻子, 是…的父亲."""
    gap = text[start : second.start].strip("“”‘’（）() ")
    if not gap or len(gap) > _FARTHEST or _BREAK.search(gap):
        return ""
    if _ROLE.fullmatch(gap):
        return gap
    between = (word for word in tagged if start <= word.start and word.end <= second.start)
    if not any(word.tag.startswith("v") for word in between):
        return ""
    if gap in _IS and (role := _ROLE.match(text, second.end)):
        return f"{gap}…{role.group()}"
    if gap.endswith("的") or (gap in _IS and _WORD.match(text, second.end)):
        return ""
    return "" if any(_is_noun_at(text, tagged, end) for end in (start, second.end)) else gap


def _is_noun_at(text: str, tagged: Sequence[Tagged], place: int) -> bool:
    """Whether the name that ends here only describes a noun: 黑龙江省委决定, 是中国最大的银行."""
    if text[place : place + 1] == "的":
        return True
    behind = next((word for word in tagged if word.start >= place), None)
    return behind is not None and behind.start == place and behind.tag.startswith(("n", "j"))
