"""The text of e-mails: quotes without their marks, each below the line that says whose it is.

*On 3 May, Ada wrote:* and the *From:* of a message copied into another are headings. So is the
name of whoever goes on behind a quote, since the mark that told the two apart is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Final

from ingestion.parsers.builder import TextBuilder
from ingestion.parsers.document import one_line
from ingestion.parsers.plain import all_headings, rejoined, write_parts
from kb_project.text.regions import RegionKind

ENVELOPE: Final = RegionKind.CAPTION
"""What stands around a message: no prose, but the names in it count."""
_QUOTED: Final = "Quoted text"
_LOWEST: Final = 6
_MARKS: Final = re.compile(r" ?(?:> ?)+(?!From )")
_WROTE: Final = re.compile(
    r"(?m)^[ \t]*(?:On|Am|Le|El|Il|Op|Den|Em|Dne|W dniu|Dnia|在|于|於)(?=\D{0,40}\d)"
    r".{0,300}(?:\n.{0,200})??"
    r"(?:wrote|schrieb\b.{0,80}|a écrit|escribió|ha scritto|schreef\b.{0,80}|skrev\b.{0,80}"
    r"|escreveu|napisał\S{0,3}|写道|寫道)\s?[:：][ \t]*$"
)
_LAST_LINE: Final = re.compile(r"[^\n]*(?:\n[ \t]*<[^\n]*)?\Z")
_LONGEST_LINE: Final = 300
# The fields of a message that was copied into another, below a line of dashes in most programs.
_COPIED: Final = re.compile(
    r"(?m)^(?P<rule>[-_*]{5,}.{0,80}\n\s{0,20})?"
    r"(?P<from>\*?(?:From|Von|De|Da|Van|Från|Fra|Od|发件人|寄件者)\*? ?[:：].{1,300})"
    r"(?P<fields>(?:\n{1,2}\*?(?:Sent|Date|To|Cc|Bcc|Subject|Reply-To|Importance|Attachments"
    r"|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado(?: el)?|Fecha|Para|Asunto|Inviato|Data|A"
    r"|Oggetto|Verzonden|Aan|Onderwerp|Skickat|Sendt|Till|Til|Ämne|Emne|Assunto|Wysłano|Do|Temat"
    r"|发送时间|日期|收件人|抄送|主题|主旨)\*? ?[:：].{0,2000}){2,9}$)"
)
_RULE: Final = re.compile(
    r"(?m)^-{3,} ?(?:Original|Forwarded|Ursprüngliche|Weitergeleitete|Message)\b.{0,60}?-{3,} *$"
)
_SIGNATURE: Final = re.compile(r"(?m)^--[ \t]?\n")
_LONGEST_SIGNATURE: Final = 15
_NOTICE: Final = re.compile(
    r"(?im)^\W{0,5}(?:this|these|the|any|if|confidential\w*|disclaimer|important|notice|privileged"
    r"|diese|der inhalt|sollten|ce|ces)\b(?:.+\n){0,12}?"
    r".*(?:not (?:an?|the) (?:intended|named)\s(?:recipient|addressee)"
    r"|nicht der (?:richtige|beabsichtigte|vorgesehene)\s(?:adressat|empfänger)"
    r"|n['’]êtes pas (?:le|un|son)\s(?:bon )?destinataire).*(?:\n.*\S.*)*"
)


@dataclass(frozen=True, slots=True)
class _Told:
    """A line that says who wrote what follows; its rule begins and its fields end around it."""

    begin: int
    start: int
    title: str
    title_end: int
    end: int


def write_plain(builder: TextBuilder, text: str, sender: str) -> None:
    """Write the plain text of a message by ``sender``."""
    speakers = {0: sender}
    told_of = 0
    for (depth, piece), (following, _) in pairwise([*_pieces(text), (0, "")]):
        piece = rejoined(piece)
        told = _told(piece, is_quoting=following > depth)
        begins = bool(told) and not piece[: told[0].begin].strip()
        if not begins and told_of != depth:
            builder.heading(1, speakers.get(depth) or (_QUOTED if depth else ""))
        written = write_parts(builder, piece)
        start = builder.length - len(written)
        for level, title, at in all_headings(written):
            builder.mark_heading(min(level + 1, _LOWEST), title, start + at)
        # Tables above have moved what is told.
        told = _told(written, is_quoting=following > depth)
        _note(builder, written, start, told)
        told_of = -1
        if told:
            if following > depth and not written[told[-1].end :].strip():
                told_of = following
            speakers = {at: one for at, one in speakers.items() if at <= depth}
            speakers[max(depth, told_of)] = told[-1].title


def mark_messages(builder: TextBuilder, text: str, start: int) -> None:
    """Mark the messages inside a message whose text stands at ``start``."""
    _note(builder, text, start, _told(text))


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """How many marks of quotation lines have, and these lines without them."""
    depth = 0
    lines: list[str] = []
    for line in text.split("\n"):
        mark = _MARKS.match(line)
        said = line[mark.end() :] if mark else line
        if said.strip():
            here = mark.group().count(">") if mark else 0
            if here != depth and any(map(str.strip, lines)):
                yield depth, "\n".join(lines).strip("\n")
                lines.clear()
            depth = here
        lines.append(said)
    if any(map(str.strip, lines)):
        yield depth, "\n".join(lines).strip("\n")


def _told(text: str, *, is_quoting: bool = False) -> list[_Told]:
    """``is_quoting``: a quote follows, so that its last line may say whose it is in any words."""
    found = [
        _of(text, *one.span(), one.span())
        for one in (*_WROTE.finditer(text), *_RULE.finditer(text))
    ]
    found += [_of(text, *one.span("from"), one.span()) for one in _COPIED.finditer(text)]
    # The rule above a copied message belongs to it.
    told = list({one.begin: one for one in found}.values())
    told.sort(key=attrgetter("begin"))
    text = text.rstrip()
    if is_quoting and text[-1:] in (":", "：") and not (told and told[-1].end >= len(text)):
        last = _LAST_LINE.search(text)
        if last and last.end() - last.start() <= _LONGEST_LINE and re.search(r"\d", last.group()):
            told.append(_of(text, *last.span(), last.span()))
    return told


def _of(text: str, start: int, end: int, whole: tuple[int, int]) -> _Told:
    return _Told(whole[0], start, one_line(text[start:end]), end, whole[1])


def _note(builder: TextBuilder, text: str, start: int, told: list[_Told]) -> None:
    for one in told:
        builder.mark_heading(1, one.title, start + one.start)
        builder.note(ENVELOPE, start + one.title_end, start + one.end)
    for begin, end in pairwise([0, *(one.begin for one in told), len(text)]):
        marks = list(_SIGNATURE.finditer(text, begin, end))
        if marks and text.count("\n", marks[-1].end(), end) <= _LONGEST_SIGNATURE:
            # Its lines are no sentences, but say who somebody is and how to reach them.
            builder.note(RegionKind.TABLE, start + marks[-1].start(), start + end)
    for notice in _NOTICE.finditer(text):
        builder.note(RegionKind.LEGAL, start + notice.start(), start + notice.end())
