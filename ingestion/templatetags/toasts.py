"""Messages that carry a way back."""

from __future__ import annotations

from django import template
from django.contrib.messages.storage.base import Message

from ingestion.toasts import MARK, Toast

register = template.Library()


@register.filter
def as_toast(message: Message) -> Toast | None:
    """The toast a message stands for, None for an ordinary one."""
    tag = message.extra_tags or ""
    return Toast(str(message.message), tag.removeprefix(MARK)) if tag.startswith(MARK) else None
