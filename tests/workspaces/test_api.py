from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, get_resolver

from workspaces import api
from workspaces.api import WorkspaceAPIView


def workspace_views() -> Iterator[type]:
    """Every view of the API in a workspace."""
    waiting: list[tuple[str, Any]] = [("", get_resolver())]
    while waiting:
        before, entry = waiting.pop()
        address = before + str(entry.pattern)
        if not isinstance(entry, URLPattern):
            waiting += [(address, inner) for inner in entry.url_patterns]
        elif "api/v1/" in address and "workspace_id" in address:
            yield entry.callback.cls  # type: ignore[attr-defined]  # as_view sets it


def passes_the_gate(method: Any) -> bool:
    """Whether an Operation wraps the method."""
    while method.__code__.co_filename != api.__file__:
        method = getattr(method, "__wrapped__", None)
        if method is None:
            return False
    return True


def test_every_operation_in_a_workspace_passes_the_gate():
    views = list(workspace_views())

    assert len(views) > 50
    for view in views:
        assert issubclass(view, WorkspaceAPIView)
        names = [name for name in ("get", "post", "put", "patch", "delete") if hasattr(view, name)]
        assert names
        assert [name for name in names if not passes_the_gate(getattr(view, name))] == []


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_method_that_is_no_operation_is_noticed(is_declared: bool):
    def get(self: WorkspaceAPIView) -> None:
        """Nothing."""

    method = api.reading("nothing", status=204)(get) if is_declared else get

    assert passes_the_gate(method) == is_declared
