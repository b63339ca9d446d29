"""Whether mails reach people: without a mail server they are printed on the console."""

from __future__ import annotations

from django.conf import settings


def is_set_up() -> bool:
    return bool(settings.EMAIL_BACKEND != settings.CONSOLE_MAIL)
