from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ingestion.parsers import Limits, parse
from ingestion.parsers.document import MIB
from kb_project.text.regions import RegionKind
from tests.ingestion.parsers.conftest import headed, of_kind, require_sound
from tests.ingestion.parsers.mails import make_mail, saved
from tests.patience import PATIENCE

WORDS = st.text(
    alphabet=st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=90
)
# The one path is written anew for every example, so sharing it between them is no danger.
EACH_IN_ONE_FILE = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def body(text: str) -> str:
    """What follows the fields of a message."""
    return text.partition("\n\n")[2]


def test_a_message_begins_with_who_wrote_what_to_whom_and_when(read):
    document = read(saved(make_mail("Grüße an Bo.", subject="Größe der Boje")), "1.eml")

    fields, text = document.text.split("\n\n")
    assert fields.splitlines() == [
        "From: Jörg Müller <jorg@port.example>",
        "To: Ada Lind <ada@isle.example>, Bo <bo@isle.example>",
        "Date: Fri, 10 Jul 2026 16:20:00 +0200",
        "Subject: Größe der Boje",
    ]
    assert text == "Grüße an Bo."
    assert of_kind(document, RegionKind.CAPTION) == [fields]


def test_sender_and_date_are_known(read):
    metadata = read(saved(make_mail("Text.")), "1.eml").metadata

    assert metadata == {"author": "Jörg Müller", "created": "2026-07-10T16:20:00+02:00"}


@pytest.mark.parametrize(
    "subject",
    ["Fog", "Re: Fog", "RE: AW: Fog", "Fwd: Re[2]: Fog", "回复：Fog", "FW: Antw: Fog"],
)
def test_a_message_is_called_after_its_subject_without_what_replies_add(read, subject):
    assert read(saved(make_mail("Text.", subject=subject)), "1.eml").title == "Fog"


@pytest.mark.parametrize("subject", ["Regarding: Fog", "Fog: Re: bells"])
def test_a_subject_of_its_own_stays_whole(read, subject):
    assert read(saved(make_mail("Text.", subject=subject)), "1.eml").title == subject


def test_a_message_without_a_subject_is_called_after_its_file(read):
    assert read(b"From: ada@isle.example\n\nText.", "log_of_july.eml").title == "log of july"


@pytest.mark.parametrize("cte", ["quoted-printable", "base64", "8bit"])
def test_a_text_is_read_in_any_transfer_encoding(read, cte):
    text = "Grüße – 灯塔 – привет. " * 9

    assert body(read(saved(make_mail(text, cte=cte)), "1.eml").text) == text.strip()


def test_plain_text_is_preferred_to_the_same_as_a_page(read):
    mail = make_mail("The plain text.", page="<html><body><p>The page.</p></body></html>")

    assert body(read(saved(mail), "1.eml").text) == "The plain text."


def test_a_page_is_read_as_pages_are_where_the_plain_text_is_empty(read):
    page = (
        "<html><body><h2>Prices</h2><div class=footer>Not lost.</div><ul><li>Oil</ul>"
        "<table><tr><th>Item<th>Cost<tr><td>Rope<td>3.20</table></body></html>"
    )
    document = read(saved(make_mail(" \n", page=page)), "1.eml")

    assert body(document.text) == "Prices\n\nNot lost.\n\n- Oil\n\nItem: Rope; Cost: 3.20"
    assert headed(document) == ["Prices"]
    assert of_kind(document, RegionKind.TABLE) == ["Item: Rope; Cost: 3.20"]


def test_attachments_are_named_and_not_read(read):
    mail = make_mail("See below.")
    mail.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="Größe.pdf")
    mail.add_attachment("Some log.", filename="run.log")
    document = read(saved(mail), "1.eml")

    assert body(document.text) == "See below.\n\nAttachments: Größe.pdf, run.log"
    assert document.warnings == (
        "Attachments were not read. Upload those that matter as documents.",
    )


def test_pictures_within_the_text_are_no_attachments(read):
    mail = make_mail("Text.", page="<html><body>Text. <img src=cid:a></body></html>")
    part = mail.get_body(("html",))
    assert part is not None
    part.add_related(
        b"\x89PNG",
        maintype="image",
        subtype="png",
        cid="<a>",
        filename="a.png",
        disposition="inline",
    )

    assert read(saved(mail), "1.eml").warnings == ()


def test_a_forwarded_message_is_read_below_its_sender(read):
    inner = make_mail("The fog came.", subject="Fog", sender="Bram <bram@isle.example>")
    inner.add_attachment(b"x", maintype="image", subtype="png", filename="fog.png")
    mail = make_mail("See below.", subject="Fwd: Fog")
    mail.add_attachment(inner)
    document = read(saved(mail), "1.eml")

    assert headed(document) == ["From: Bram <bram@isle.example>"]
    assert document.text.index("See below.") < document.text.index("From: Bram")
    assert document.text.endswith("Subject: Fog\n\nThe fog came.\n\nAttachments: fog.png")
    assert document.metadata["author"] == "Jörg Müller"


def test_messages_too_deep_in_others_are_left_out_with_a_warning(read):
    mail = make_mail("Level 0.")
    for level in range(1, 12):
        outer = make_mail(f"Level {level}.")
        outer.add_attachment(mail)
        mail = outer
    document = read(saved(mail), "1.eml")

    assert "Level 3." in document.text
    assert "Level 2." not in document.text
    assert document.warnings == ("Messages more than 8 deep in others were not read.",)


def test_each_message_of_a_mailbox_is_read(read):
    data = (
        b"From a@b Fri Jul 10 16:20:00 2026\nFrom: Ada <a@b>\nSubject: One\n\nFirst.\n\n"
        b"From c@d Fri Jul 10 16:21:00 2026\nFrom: Bo <c@d>\nSubject: Two\n\nSecond.\n"
    )
    document = read(data, "July.eml")

    assert document.title == "July"
    assert headed(document) == ["From: Bo <c@d>"]
    assert "First." in document.text
    assert "Second." in document.text


def test_bytes_that_declare_no_encoding_are_read_in_that_of_the_file(read):
    data = "From: Jörg <j@b>\nSubject: Größe\nContent-Type: text/plain; charset=klingon\n\nGrüße"

    for encoding in ("latin-1", "utf-8", "utf-16"):
        document = read(data.encode(encoding), "1.eml")
        assert document.text == "From: Jörg <j@b>\nSubject: Größe\n\nGrüße"


def test_damaged_parts_are_read_as_far_as_they_go(read):
    data = (
        b"From: a@b\nSubject: x\nContent-Transfer-Encoding: base64\n\nSGVsbG8gd29ybGQ*=&&!!!\n",
        b"From: a@b\nSubject: x\nContent-Type: multipart/mixed\n\n--b\n\nHello world\n--b--\n",
        b"From: a@b\nSubject: x\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nHello world",
    )

    for one in data:
        document = read(one, "1.eml")
        assert "Hello world" in document.text
        assert document.warnings == ("The e-mail is damaged: parts of it may be missing or wrong.",)


def test_a_line_break_in_a_field_adds_no_field(read):
    document = read(b"From: a@b\nSubject: =?utf-8?Q?Fog=0AFrom:_evil@c?=\n\nText.", "1.eml")

    assert document.text == "From: a@b\nSubject: Fog From: evil@c\n\nText."


def test_thousands_of_recipients_are_read_quickly(write, sandbox):
    mail = "To: " + ", ".join(f"Ann <a{n}@b.example>" for n in range(50_000)) + "\n\nText."

    document = sandbox.parse(write(mail.encode()), name="1.eml", limits=Limits(seconds=PATIENCE))

    assert document.text.endswith("…\n\nText.")


def test_parts_nested_without_end_are_refused(refuse):
    parts = "".join(
        f'Content-Type: multipart/mixed; boundary="{n}"\n\n--{n}\n' for n in range(3000)
    )

    assert refuse(f"From: a@b\n{parts}\nText.".encode(), "1.eml").code == "eml_corrupt"


def test_a_message_without_any_text_is_refused(refuse):
    assert refuse(b"Received: from a by b\n\n  \n", "1.eml").code == "no_text"


def test_a_message_longer_than_the_limit_is_refused(refuse):
    data = saved(make_mail("word " * 1000, cte="base64"))

    assert refuse(data, "1.eml", Limits(max_characters=500)).code == "too_long"


def test_the_confined_reader_reads_what_this_process_does(read, write, sandbox):
    mail = make_mail(" ", page="<html><body><p>Grüße</p></body></html>")
    mail.add_attachment(make_mail("Inside.", cte="base64"))
    mail.add_attachment(b"x" * MIB, maintype="image", subtype="png", filename="a.png")
    data = saved(mail)

    assert sandbox.parse(write(data), name="1.eml") == read(data, "1.eml")


@EACH_IN_ONE_FILE
@given(
    lines=st.lists(st.tuples(st.integers(0, 3), WORDS), min_size=1, max_size=12),
    cte=st.sampled_from(["quoted-printable", "base64", "8bit"]),
)
def test_no_letter_of_a_text_is_lost(tmp_path, lines, cte):
    text = "\n".join("> " * depth + words for depth, words in lines)

    assert_in_order(tmp_path, saved(make_mail(text, cte=cte)), [words for _, words in lines])


@EACH_IN_ONE_FILE
@given(
    lines=st.lists(st.tuples(st.sampled_from(["p", "div", "li", "h2", "td"]), WORDS), min_size=1)
)
def test_no_letter_of_a_page_is_lost(tmp_path, lines):
    page = "".join(f"<{tag}>{words}</{tag}>" for tag, words in lines)
    mail = make_mail(" ", page=f"<html><body>{page}</body></html>")

    assert_in_order(tmp_path, saved(mail), [words for _, words in lines])


def assert_in_order(folder: Path, data: bytes, lines: list[str]) -> None:
    path = folder / "1.eml"
    path.write_bytes(data)
    document = parse(path, name="1.eml", limits=Limits())
    require_sound(document)
    rest = body(document.text)
    for line in lines:
        assert line in rest
        rest = rest.partition(line)[2]
