"""Where documents are filed: collections by their names, tags in one spelling."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from ingestion.models import Collection


def clean_tags(tags: Sequence[str]) -> list[str]:
    cut = (tag.strip().lower()[:60].strip() for tag in tags)
    return list(dict.fromkeys(tag for tag in cut if tag))[:20]


def clean_name(name: str) -> str:
    """Of a collection, as it is kept."""
    return " ".join(name.split())[:120].strip()


def collection_named(workspace_id: uuid.UUID, name: str) -> Collection | None:
    """The collection of that name, made where there is none; None for no name."""
    name = clean_name(name)
    if not name:
        return None
    return Collection.objects.get_or_create(workspace_id=workspace_id, name=name)[0]
