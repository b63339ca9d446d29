"""The sentences that make up an overview, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Final

from kb_project.text.words import listed

NOUNS: Final = {"pdf": "page", "docx": "page", "pptx": "slide", "spreadsheet": "sheet"}
"""What a parser's units are called, where their number gives the file's length."""
CHARACTERS_A_WORD: Final = 6
"""In English prose, including the space."""


class English:
    def is_a(self, title: str, about: str) -> str:
        """Say in a sentence what a document is."""
        return f"{title} ({about})." if about else f"{title}."

    def part_of(self, title: str) -> str:
        return f"part of {title}"

    def parts(self, titles: Sequence[str]) -> str:
        """List the main headings of the document just named."""
        return f"Its main parts are: {_ended('; '.join(titles))}"

    def part(self, title: str, below: Sequence[str]) -> str:
        return f"{title} ({', '.join(below)})" if below else title

    def mentions(self, names: Sequence[str], terms: Sequence[str]) -> str:
        said = [f"mentions {listed(names)} most often"] if names else []
        said += [f"keeps returning to {listed(terms)}"] if terms else []
        return " and ".join(said)

    def names(self, names: Sequence[str], terms: Sequence[str]) -> str:
        return f"It {self.mentions(names, terms)}."

    def line(self, title: str, about: str, parts: Sequence[str], mentions: str) -> str:
        """Describe a document in one sentence."""
        said = "; ".join(filter(None, [*parts, mentions]))
        return f"{title} ({about}){': ' if said else ''}{_ended(said)}"

    def mentioned(self, phrase: str, number: int, shown: int) -> str:
        verb = "documents mention" if number > 1 else "document mentions"
        most = f", these {shown} the most:" if shown < number else "."
        return f"{f'{number:,}' if number else 'No'} {verb} {phrase}{most}"

    def mention(self, title: str, number: int, quote: str) -> str:
        return f"{title} ({number:,} passage{'' if number == 1 else 's'}): {_ended(quote)}"

    def rest(self, number: int, titles: Sequence[str]) -> str:
        """Sum up the documents without a line of their own; ``titles`` are the first ones'."""
        noun = "document" if number == 1 else "documents"
        others = "" if number == len(titles) else ", including"
        return f"{number:,} more {noun}{others}: {'; '.join(titles)}."

    def size(self, parser: str, pages: int, length: int) -> str:
        if parser in NOUNS and pages:
            return f"{pages:,} {NOUNS[parser]}{'' if pages == 1 else 's'}"
        return f"about {rounded(length / CHARACTERS_A_WORD):,} words"


class Chinese(English):
    def is_a(self, title: str, about: str) -> str:
        return f"{title}（{about}）。" if about else f"{title}。"

    def part_of(self, title: str) -> str:
        return f"《{title}》的一部分"

    def parts(self, titles: Sequence[str]) -> str:
        return f"主要部分：{'；'.join(titles)}。"

    def part(self, title: str, below: Sequence[str]) -> str:
        return f"{title}（{'、'.join(below)}）" if below else title

    def mentions(self, names: Sequence[str], terms: Sequence[str]) -> str:
        said = [f"最常提到{'、'.join(names)}"] if names else []
        said += [f"反复谈及{'、'.join(terms)}"] if terms else []
        return "，".join(said)

    def names(self, names: Sequence[str], terms: Sequence[str]) -> str:
        return f"{self.mentions(names, terms)}。"

    def line(self, title: str, about: str, parts: Sequence[str], mentions: str) -> str:
        said = "；".join(filter(None, [*parts, mentions]))
        return f"{title}（{about}）{'：' if said else ''}{said}。"

    def mentioned(self, phrase: str, number: int, shown: int) -> str:
        most = f"，以下 {shown} 份提到最多：" if shown < number else "。"
        return f"有 {number:,} 份文件提到{phrase}{most}" if number else f"没有文件提到{phrase}。"

    def mention(self, title: str, number: int, quote: str) -> str:
        return f"{title}（{number:,} 段）：{quote}"

    def rest(self, number: int, titles: Sequence[str]) -> str:
        others = "" if number == len(titles) else "，其中有"
        return f"另有 {number:,} 份文件{others}：{'；'.join(titles)}。"

    def size(self, parser: str, pages: int, length: int) -> str:
        if parser in NOUNS and pages:
            return f"{pages:,} 页"
        return f"约 {rounded(length):,} 字符"


ENGLISH: Final = English()
CHINESE: Final = Chinese()


def rounded(number: float) -> int:
    """Round to two significant figures, at least 10.

    >>> rounded(31_416), rounded(3)
    (31000, 10)
    """
    if number < 10:
        return 10
    unit = 10 ** (floor(log10(number)) - 1)
    return int(round(number / unit) * unit)


def _ended(said: str) -> str:
    """
    >>> _ended("The lamp"), _ended("Why is it lit?")
    ('The lamp.', 'Why is it lit?')
    """
    return said if said.endswith((".", "?", "!", "…", ":")) else f"{said}."
