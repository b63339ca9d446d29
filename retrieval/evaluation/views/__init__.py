"""Pages of evaluation: question sets, runs over them, and results."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest

from kb_project.errors import KBError


def is_done(request: HttpRequest, change: Callable[[], object], success: str = "") -> bool:
    """Make the change, and show ``success`` or why it failed on the next page."""
    try:
        change()
    except KBError as error:
        messages.error(request, error.sentence)
        return False
    if success:
        messages.success(request, success)
    return True
