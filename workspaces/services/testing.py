"""Trying a workspace's endpoint out."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from kb_project.errors import UnavailableError
from workspaces.models import Workspace
from workspaces.services.model_settings import config_needed

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TestLine:
    """One thing that was tried, for people."""

    what: str
    is_good: bool
    sentence: str


def model_test(*, workspace: Workspace) -> list[TestLine]:
    """Make one real call of each kind. Call outside transactions."""
    config_needed(workspace)
    raise UnavailableError("Not yet.")
