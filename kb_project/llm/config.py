"""The configuration of a workspace's chat models and their limits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from kb_project.llm.capabilities import Support
from kb_project.llm.ports import Role


@dataclass(frozen=True, slots=True)
class RoleLimits:
    """``max_output`` is in tokens; ``timeout`` in seconds, for one exchange."""

    max_output: int
    timeout: float


DEFAULT_LIMITS: Final[Mapping[Role, RoleLimits]] = MappingProxyType(
    {
        Role.EXTRACT: RoleLimits(4_096, 180),
        Role.SUMMARISE: RoleLimits(2_000, 120),
        Role.SITUATE: RoleLimits(200, 60),
        Role.KEYWORD: RoleLimits(300, 30),
        Role.ANSWER: RoleLimits(2_000, 120),
        Role.JUDGE: RoleLimits(1_000, 60),
    }
)
PRIORITIES: Final[Mapping[Role, int]] = MappingProxyType(
    {
        Role.ANSWER: 0,
        Role.KEYWORD: 0,
        Role.JUDGE: 0,
        Role.SUMMARISE: 1,
        Role.EXTRACT: 2,
        Role.SITUATE: 2,
    }
)
"""The order in which waiting calls go; someone is waiting for an answer."""
MARGIN: Final = 0.03
"""Share of the window left free: the model's tokens differ slightly from those counted here."""


@dataclass(frozen=True)
class ChatConfig:
    """``model`` serves roles without one in ``models``. ``concurrency`` is for all workers
    together.

    ``parameters`` are what a role's requests say besides. ``support`` is None while nothing is
    known. ``is_operators`` is for the installation's model.
    """

    endpoint: str
    model: str
    key: str = field(default="", repr=False)
    models: Mapping[Role, str] = field(default_factory=dict)
    limits: Mapping[Role, RoleLimits] = field(default_factory=dict)
    parameters: Mapping[Role, Mapping[str, Any]] = field(default_factory=dict)
    concurrency: int = 8
    context_window: int = 16_000
    support: Support | None = None
    is_operators: bool = False

    def model_of(self, role: Role) -> str:
        return self.models.get(role) or self.model

    def limits_of(self, role: Role) -> RoleLimits:
        return self.limits.get(role) or DEFAULT_LIMITS[role]

    def max_output(self, role: Role, wanted: int = 0) -> int:
        """Return the tokens an answer may have: at most half of a small window."""
        return max(1, min(wanted or self.limits_of(role).max_output, self.context_window // 2))

    def input_limit(self, role: Role, wanted: int = 0) -> int:
        """Return the tokens a prompt may have beside the answer."""
        return max(1, self.room_beside(self.max_output(role, wanted)))

    def room_beside(self, prompt: int) -> int:
        """Return the tokens that a prompt of so many leaves in the window."""
        return max(0, self.context_window - int(self.context_window * MARGIN) - prompt)

    @property
    def host(self) -> str:
        """The endpoint's host for display: never with a name and password."""
        return urlsplit(self.endpoint).hostname or "the endpoint"

    @property
    def line(self) -> int:
        """A 31-bit number for the endpoint and key: workspaces that share it share the
        concurrency.
        """
        digest = hashlib.sha256(f"{self.endpoint}\n{self.key}".encode()).digest()
        return int.from_bytes(digest[:4], "big") >> 1
