"""Messages with an undo."""

from __future__ import annotations

from django import template
from django.contrib.messages.storage.base import Message

from ingestion.history.toasts import MARK, Toast

register = template.Library()


@register.filter
def as_toast(message: Message) -> Toast | None:
    """Return the toast in a message, None for an ordinary message."""
    tag = message.extra_tags or ""
    return Toast(str(message.message), tag.removeprefix(MARK)) if tag.startswith(MARK) else None
