from __future__ import annotations

import pytest

from kb_project.text.regions import RegionKind
from tests.ingestion.parsers.conftest import headed, of_kind
from tests.ingestion.parsers.mails import make_mail, saved

THREAD = """\
Agreed.

Jörg

On Fri, 10 Jul 2026 at 16:20, Ada Lind wrote:
> The fault was theirs: a joint near
> the cricket ground, flooded on Wednesday.
>
> On Fri, 10 Jul 2026 at 11:05, Bram Holt <bram@isle.example>
> wrote:
>> The lamp is fine.
>>> Dear all, the lamp is out.
"""
OUTLOOK = """\
See below.

-----Original Message-----
From: Ada Lind <ada@isle.example>
Sent: Friday, July 10, 2026 4:20 PM
To: Jörg Müller; Bram Holt
Subject: RE: Lamp

It is fine.

Von: Bram Holt
Gesendet: Freitag, 10. Juli 2026 11:05
An: Ada Lind
Betreff: Lamp

It is out.
"""


@pytest.fixture
def read_text(read):
    def read_text(text: str):
        return read(saved(make_mail(text, cte="8bit")), "1.eml")

    return read_text


def test_quotes_lose_their_marks_and_stand_below_who_wrote_them(read_text):
    document = read_text(THREAD)

    assert document.text.partition("\n\n")[2] == (
        "Agreed.\n\nJörg\n\n"
        "On Fri, 10 Jul 2026 at 16:20, Ada Lind wrote:\n\n"
        "The fault was theirs: a joint near\nthe cricket ground, flooded on Wednesday.\n\n"
        "On Fri, 10 Jul 2026 at 11:05, Bram Holt <bram@isle.example>\nwrote:\n\n"
        "The lamp is fine.\n\n"
        "Quoted text\n\n"
        "Dear all, the lamp is out."
    )
    assert [(one.level, one.title) for one in document.headings] == [
        (1, "On Fri, 10 Jul 2026 at 16:20, Ada Lind wrote:"),
        (1, "On Fri, 10 Jul 2026 at 11:05, Bram Holt <bram@isle.example> wrote:"),
        (1, "Quoted text"),
    ]


def test_answers_between_quotes_stand_below_whoever_gives_them(read_text):
    document = read_text(
        "On 3 May 2026, Ada wrote:\n> What does it cost?\nFive.\n> When\n> is it due?\n\nNow."
    )

    assert document.text.partition("\n\n")[2].split("\n\n") == [
        "On 3 May 2026, Ada wrote:",
        "What does it cost?",
        "Jörg Müller",
        "Five.",
        "On 3 May 2026, Ada wrote:",
        "When\nis it due?",
        "Jörg Müller",
        "Now.",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "On 10/07/2026 16:20, Ada Lind wrote:",
        "Am 10.07.26 um 16:20 schrieb Ada Lind:",
        "Le ven. 10 juil. 2026 à 16:20, Ada Lind <ada@isle.example> a écrit :",
        "在 2026年7月10日，Ada Lind 写道：",
        "pe 10. heinäk. 2026 klo 16.20 Ada Lind kirjoitti:",
    ],
)
def test_who_wrote_a_quote_is_told_in_many_languages(read_text, line):
    assert headed(read_text(f"Yes.\n\n{line}\n\n> Is it lit?")) == [line]


@pytest.mark.parametrize(
    "text",
    [
        "On 3 May the lamp failed.\n\nIt took: an hour.",
        "From: the harbour\nto the light it is a mile.\nNote: mind the fog.",
        "Prices\n\nFrom: 3.20\nRope: 4.10\nOil: 2.00",
    ],
)
def test_prose_and_lists_name_no_message(read_text, text):
    document = read_text(text)

    assert document.headings == ()
    assert document.text.endswith(text)


def test_a_quote_at_the_top_is_not_taken_for_the_senders_words(read_text):
    assert headed(read_text("> Is it lit?\n\nYes.")) == ["Quoted text", "Jörg Müller"]


def test_messages_copied_below_each_other_stand_below_their_senders(read_text):
    document = read_text(OUTLOOK)

    assert headed(document) == ["From: Ada Lind <ada@isle.example>", "Von: Bram Holt"]
    assert of_kind(document, RegionKind.CAPTION)[1:] == [
        "Sent: Friday, July 10, 2026 4:20 PM\nTo: Jörg Müller; Bram Holt\nSubject: RE: Lamp",
        "Gesendet: Freitag, 10. Juli 2026 11:05\nAn: Ada Lind\nBetreff: Lamp",
    ]


def test_a_copied_message_may_be_quoted(read_text):
    document = read_text("Yes.\n\n" + "".join(f"> {line}\n" for line in OUTLOOK.splitlines()[2:]))

    assert headed(document) == ["From: Ada Lind <ada@isle.example>", "Von: Bram Holt"]


def test_messages_within_a_page_stand_below_their_senders(read):
    page = (
        "<html><body><p>See below.</p><div><b>From:</b> Ada Lind<br><b>Sent:</b> Friday"
        "<br><b>To:</b> Jörg<br><b>Subject:</b> Lamp</div><h2>Why</h2><p>It rained.</p>"
        "<div>On Thu, 9 Jul 2026 at 9:00, Bram &lt;<a href='mailto:b@c'>b@c</a>&gt; wrote:</div>"
        "<blockquote>It is out.</blockquote></body></html>"
    )
    document = read(saved(make_mail(" ", page=page)), "1.eml")

    assert [(one.level, one.title) for one in document.headings] == [
        (1, "From: Ada Lind"),
        (2, "Why"),
        (1, "On Thu, 9 Jul 2026 at 9:00, Bram <b@c> wrote:"),
    ]


def test_numbered_headings_stand_below_their_message(read_text):
    sections = "".join(
        f"{at}. {one}\n\nIt rained.\n\n" for at, one in enumerate(("Oil", "Wicks"), 1)
    )

    document = read_text(f"{sections}3. Fog\n\nIt rained.\n\nOn 3 May 2026 Ada wrote:\n> Yes.")

    assert [(one.level, one.title) for one in document.headings] == [
        (2, "1. Oil"),
        (2, "2. Wicks"),
        (2, "3. Fog"),
        (1, "On 3 May 2026 Ada wrote:"),
    ]


def test_signatures_are_lines_of_their_own_and_notices_are_no_prose(read_text):
    notice = (
        "This e-mail is confidential and may be privileged. If you are not the intended\n"
        "recipient, delete it."
    )
    document = read_text(
        f"It is lit.\n\n-- \nJörg\nKeeper\n\nOn 3 May 2026 Ada wrote:\n> Well?\n\n{notice}"
    )

    assert of_kind(document, RegionKind.TABLE) == ["-- \nJörg\nKeeper"]
    assert of_kind(document, RegionKind.LEGAL) == [notice]


def test_words_cut_at_the_end_of_a_quoted_line_are_joined(read_text):
    document = read_text("> The lighthouse. A light-\n> house burned.")

    assert document.text.endswith("The lighthouse. A lighthouse\nburned.")


def test_the_rows_of_a_table_name_their_columns(read_text):
    parsed = read_text(
        "Hello,\n\nthe watches:\n\nNight    Keeper\n-------  ---------\nFriday   Ada Lind\n"
        "Sunday   Bram Holt\n\nGoodbye\n\nOn Fri, 10 Jul 2026 at 16:20, Ada Lind wrote:\n> Who?\n"
    )

    assert "Night: Friday; Keeper: Ada Lind\nNight: Sunday; Keeper: Bram Holt" in parsed.text
    assert [heading.title for heading in parsed.headings if "wrote" in heading.title] == [
        "On Fri, 10 Jul 2026 at 16:20, Ada Lind wrote:"
    ]
