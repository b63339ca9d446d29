"""E-mails as mail programs write them."""

from __future__ import annotations

from email.message import EmailMessage
from email.policy import SMTP


def make_mail(
    text: str = "",
    *,
    subject: str = "Slipway",
    sender: str = "Jörg Müller <jorg@port.example>",
    page: str = "",
    cte: str = "quoted-printable",
) -> EmailMessage:
    """A message with its text, and the same as a web page if ``page`` is given."""
    mail = EmailMessage()
    mail["Received"] = "from mail.port.example by mx.isle.example; Fri, 10 Jul 2026 16:20:05 +0200"
    mail["From"] = sender
    mail["To"] = "Ada Lind <ada@isle.example>, Bo <bo@isle.example>"
    mail["Date"] = "Fri, 10 Jul 2026 16:20:00 +0200"
    mail["Subject"] = subject
    mail["Message-ID"] = "<17@port.example>"
    mail.set_content(text, cte=cte)
    if page:
        mail.add_alternative(page, subtype="html")
    return mail


def saved(mail: EmailMessage) -> bytes:
    return mail.as_bytes(policy=SMTP)
