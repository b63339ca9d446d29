"""The characters allowed in a document's text."""

from __future__ import annotations

import re

_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_INVISIBLE = re.compile("[\u00ad\ufeff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_NOT_FINAL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
_QUOTES = re.compile("\\\\?[\"'“”„‘’‚`´]")
_ANY_QUOTE = "[\"'“”„‘’‚`´]"
_SPACES = re.compile(r"\s+")


def clean(text: str) -> tuple[str, int]:
    """The text in its final form, and the number of control characters removed.

    >>> clean("a\\r\\nb\\x00")
    ('a\\nb', 1)
    """
    if not _NOT_FINAL.search(text):
        return text, 0
    text = _INVISIBLE.sub("", _BREAKS.sub("\n", text))
    text, removed = _CONTROLS.subn("", text)
    return _SURROGATES.sub("\ufffd", text), removed


def is_clean(text: str) -> bool:
    return _NOT_FINAL.search(text) is None


def title_pattern(title: str) -> str:
    """A pattern of a title's words, with any white space between them and any quotes.

    >>> re.search(title_pattern('About "sid"'), "6.3 About\\n”sid”").start()
    4
    """
    words = (_QUOTES.sub(_ANY_QUOTE, re.escape(word)) for word in title.split())
    return r"\s{1,4}".join(words)


def one_line(text: str, *, limit: int = 300) -> str:
    """Any text as one short line, for titles, labels and metadata."""
    line = _SPACES.sub(" ", clean(text)[0]).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
