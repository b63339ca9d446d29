"""E-mails: who wrote to whom and when, the text of the message, the names of its attachments.

Messages that are forwarded as attachments are read, too; other attachments are only named. The
standard library takes a message apart by its older policy: the newer one fails on damaged addresses
and takes a second for 5,000 of them.
"""

from __future__ import annotations

import codecs
import re
from binascii import Error as BinasciiError
from collections.abc import Iterable, Sequence
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime
from typing import Final

from ingestion.parsers import refusals
from ingestion.parsers.blocks import write_blocks
from ingestion.parsers.builder import TextBuilder, title_from_name
from ingestion.parsers.document import ParsedDocument, Source, clean, one_line
from ingestion.parsers.encoding import Decoded, decode, guess, wide_encoding
from ingestion.parsers.formats import FORMATS, MAIL
from ingestion.parsers.html import read_tree
from ingestion.parsers.mail_text import ENVELOPE, mark_messages, write_plain

MOST_NESTED: Final = 8
"""Messages inside each other that are read."""
_SHOWN: Final = ("From", "To", "Cc", "Bcc", "Date", "Subject")
_LONGEST_FIELD: Final = 5000
_REPLY: Final = re.compile(
    r"\A(?:(?:re|aw|sv|vs|antw|odp|res|fwd?|wg|tr|rv|enc|回复|答复|转发|回覆|轉寄)"
    r"(?:\[\d+\]|\(\d+\))?\s*[:：]\s*)+",
    re.IGNORECASE,
)
# Above each message of a mailbox.
_POSTMARK: Final = re.compile(rb"(?m)^From \S+ .*\d\d:\d\d:\d\d.*\r?\n(?=[!-9;-~]+:)")
_NO_BODY: Final = ("text/calendar", "text/vcard", "text/x-vcard", "text/rfc822-headers")


def read(source: Source) -> ParsedDocument:
    data = source.file.read_bytes()
    if wide_encoding(data):
        data = decode(data).text.encode(errors="replace")
    data = data.removeprefix(codecs.BOM_UTF8).lstrip()
    parts = _POSTMARK.split(data) if data.startswith(b"From ") else [data]
    writer = _Writer(TextBuilder(source), guess(data))
    try:
        messages = [message_from_bytes(one) for one in parts if one.strip()]
        for one in messages:
            writer.write(one, is_first=one is messages[0])
    except RecursionError as error:
        kind = refusals.one(FORMATS[MAIL])
        raise refusals.corrupt(source.name, kind=kind, code="eml_corrupt") from error
    subject = writer.field(messages[0], "Subject") if len(messages) == 1 else ""
    title = _REPLY.sub("", subject) or title_from_name(source.name)
    return writer.builder.build(parser="mail", title=title)


class _Writer:
    """Writes messages and, below each, its attachments' names.

    ``usual`` is the encoding of the file, for what declares none and is not UTF-8.
    """

    def __init__(self, builder: TextBuilder, usual: str) -> None:
        self.builder = builder
        self._usual = usual
        self._attachments: list[str] = []

    def write(self, message: Message, *, depth: int = 0, is_first: bool = False) -> None:
        name, address = parseaddr(self._raw(message, "From"))
        sender = one_line(_decoded(name)) or address
        if is_first:
            self.builder.describe("author", sender)
            self.builder.describe("created", _date(self._raw(message, "Date")))
        self._write_fields(message, is_first=is_first)
        self._write_part(message, sender, depth)
        if not depth:
            self._write_attachments()

    def field(self, message: Message, name: str) -> str:
        return one_line(_decoded(self._raw(message, name)), limit=_LONGEST_FIELD)

    def _raw(self, message: Message, name: str) -> str:
        """The values of a field, with encoded words as they stand in the file."""
        found = [str(value) for key, value in message.raw_items() if key.lower() == name.lower()]
        return self._decode(", ".join(found).encode(errors="surrogateescape"), "").text

    def _write_fields(self, message: Message, *, is_first: bool) -> None:
        fields = [(name, value) for name in _SHOWN if (value := self.field(message, name))]
        self.builder.part()
        if fields and not is_first:
            self.builder.heading(1, ": ".join(fields.pop(0)))
        start = self.builder.length
        for name, value in fields:
            self.builder.line(f"{name}: {value}")
        self.builder.note(ENVELOPE, start)
        self.builder.part()

    def _write_part(self, part: Message, sender: str, depth: int) -> None:
        kind = part.get_content_type()
        inside = part.get_payload() if part.is_multipart() else ()
        if parts := [one for one in inside if isinstance(one, Message)]:
            self._write_parts(kind, parts, sender, depth)
        elif not _is_body(part):
            self._keep_name(part)
        elif kind == "text/html":
            self._write_html(part)
        else:
            decoded = self._decode(_payload(part), _charset(part))
            self.builder.warn(decoded.warning)
            text, removed = clean(decoded.text)
            self.builder.removed += removed
            write_plain(self.builder, text, sender)
        if part.defects:
            self.builder.warn("The e-mail is damaged: parts of it may be missing or wrong.")

    def _write_parts(self, kind: str, parts: Sequence[Message], sender: str, depth: int) -> None:
        if kind == "message/rfc822":
            if depth < MOST_NESTED:
                self.write(parts[0], depth=depth + 1)
            else:
                self.builder.warn(f"Messages more than {MOST_NESTED} deep in others were not read.")
            return
        best = _best(parts) if kind == "multipart/alternative" else None
        for one in parts:
            if best in (None, one):
                self._write_part(one, sender, depth)
            else:
                self._keep_name(*one.walk())

    def _write_html(self, part: Message) -> None:
        tree, _ = read_tree(_payload(part), self.builder, declared=_charset(part))
        if tree.body is None:
            return
        self.builder.part()
        start = self.builder.length
        write_blocks(tree.body, self.builder)
        mark_messages(self.builder, self.builder.since(start), start)

    def _keep_name(self, *parts: Message) -> None:
        """Keep the name of an attachment; a picture within the text is none."""
        for part in parts:
            is_shown = part.get_content_maintype() == "image" and part.get("Content-ID")
            if part.get_content_disposition() == "attachment" or not is_shown:
                self._attachments.append(one_line(_decoded(part.get_filename() or "")))

    def _write_attachments(self) -> None:
        names = list(dict.fromkeys(filter(None, self._attachments)))
        self._attachments.clear()
        if not names:
            return
        self.builder.part()
        start = self.builder.length
        self.builder.line(f"Attachments: {', '.join(names)}")
        self.builder.note(ENVELOPE, start)
        self.builder.warn("Attachments were not read. Upload those that matter as documents.")

    def _decode(self, data: bytes, declared: str) -> Decoded:
        decoded = decode(data, declared=declared)
        is_guess = not declared and decoded.encoding != "utf-8"
        return decode(data, declared=self._usual) if is_guess else decoded


def _best(alternatives: Sequence[Message]) -> Message:
    """The plain text, unless it is empty; otherwise a page, alone or with its pictures."""
    kinds = [one.get_content_type() for one in alternatives]
    for one, kind in zip(alternatives, kinds, strict=True):
        if kind == "text/plain" and _payload(one).strip():
            return one
    for one, kind in zip(alternatives, kinds, strict=True):
        if kind == "text/html" or kind.startswith("multipart/"):
            return one
    return alternatives[0]


def _is_body(part: Message) -> bool:
    if part.get_content_disposition() == "attachment" or part.get_filename():
        return False
    # Parts whose boundary is missing come as one text.
    return (
        part.get_content_maintype() in ("text", "multipart", "message")
        and part.get_content_type() not in _NO_BODY
    )


def _payload(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _charset(part: Message) -> str:
    """The declared encoding, if it is known; what is said to be ASCII often is not."""
    charset = part.get_content_charset() or ""
    try:
        return "" if codecs.lookup(charset).name == "ascii" else charset
    except (LookupError, ValueError):
        return ""


def _decoded(value: str) -> str:
    """A field with its encoded words (RFC 2047) read."""
    try:
        parts: Iterable[tuple[str | bytes, str | None]] = decode_header(value)
    except (MessageError, BinasciiError, ValueError):
        return value
    return "".join(
        part
        if isinstance(part, str)
        else part.decode("raw-unicode-escape", errors="replace")
        if charset is None
        else decode(part, declared=charset).text
        for part, charset in parts
    )


def _date(value: str) -> str:
    try:
        return parsedate_to_datetime(value).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""
