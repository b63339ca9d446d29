"""The name of a browser, for the list of sessions."""

from __future__ import annotations

from django import template

from workspaces.accounts import events

register = template.Library()


@register.filter
def browser(user_agent: str) -> str:
    return events.browser_in(user_agent)
