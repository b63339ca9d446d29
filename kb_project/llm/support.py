"""The features an endpoint supports: detected once, stored with the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum


class Feature(StrEnum):
    """An optional feature of the protocol. The values are the names of Support's fields."""

    SCHEMA = "schema"
    JSON = "json"
    STREAM = "stream"
    USAGE = "usage"
    TEMPERATURE = "temperature"
    SEED = "seed"
    OLD_LIMIT = "old_limit"


@dataclass(frozen=True, slots=True)
class Support:
    """The supported features; each is tried until a server refuses it explicitly.

    ``schema`` and ``json`` are the two kinds of response_format, ``usage`` is token counts at the
    end of a stream. ``old_limit`` is the name ``max_tokens``; without it the limit is sent as
    ``max_completion_tokens``.
    """

    schema: bool = True
    json: bool = True
    stream: bool = True
    usage: bool = True
    temperature: bool = True
    seed: bool = True
    old_limit: bool = True

    def without(self, feature: Feature) -> Support:
        """Return the support without a feature.

        >>> Support().without(Feature.SCHEMA).json
        True
        """
        return replace(self, **{feature.value: False})

    def has(self, feature: Feature) -> bool:
        return bool(getattr(self, feature.value))

    def as_dict(self) -> dict[str, bool]:
        return asdict(self)

    @classmethod
    def from_dict(cls, found: Mapping[str, object]) -> Support:
        """Parse stored support; unknown names and non-boolean values are ignored."""
        names = {field.name for field in fields(cls)}
        known = {name: value for name, value in found.items() if name in names}
        return cls(**{name: value for name, value in known.items() if isinstance(value, bool)})
