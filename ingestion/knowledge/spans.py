"""Places in documents, with their text, and how the API represents them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from ingestion.models import (
    Chunk,
    Claim,
    ConflictSide,
    Document,
    Evidence,
    FindingEvidence,
    Mention,
)
from workspaces.models import Workspace


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A place in a document: ``text`` is the document's text from ``start`` to ``end``."""

    document: Document
    chunk_id: uuid.UUID
    start: int
    end: int
    text: str


def spans_of(workspace: Workspace, sources: Sequence[dict[str, Any]]) -> list[SourceSpan]:
    """The places listed in ``[{"chunk", "start", "end"}, …]``, except those that are gone.

    If a ``version`` is given too, offsets refer to its text: places in an earlier one are gone.
    """
    chunks = {
        str(chunk.pk): chunk
        for chunk in Chunk.objects.in_workspace(workspace)
        .filter(pk__in={source["chunk"] for source in sources})
        .select_related("document")
    }
    return [
        _span(chunk, source["start"], source["end"])
        for source in sources
        if (chunk := chunks.get(source["chunk"]))
        and source.get("version", chunk.document.live_number) == chunk.document.live_number
    ]


def spans_by_place(
    workspace: Workspace, sources: Sequence[dict[str, Any]]
) -> dict[tuple[str, int, int], SourceSpan]:
    """The same places by their chunk's id, start and end."""
    spans = spans_of(workspace, sources) if sources else []
    return {(str(one.chunk_id), one.start, one.end): one for one in spans}


def span_of(place: Claim | ConflictSide | Evidence | FindingEvidence | Mention) -> SourceSpan:
    return _span(place.chunk, place.start, place.end)


def _span(chunk: Chunk, start: int, end: int) -> SourceSpan:
    text = chunk.text[start - chunk.start : end - chunk.start]
    return SourceSpan(chunk.document, chunk.pk, start, end, text)


DATE_HELP = "A year, a month or a day: 1974, 1974-05 or 1974-05-21."
AS_OF: dict[str, Any] = {
    "required": False,
    "default": "",
    "allow_blank": True,
    "help_text": f"Only what holds then, or has no date. {DATE_HELP}",
}
"""The field of a date that filters an answer."""


class SourceSpanSerializer(serializers.Serializer[Any]):
    """``text`` is the document's text from ``start`` to ``end``."""

    document = serializers.UUIDField(source="document.pk")
    title = serializers.CharField(source="document.title")
    chunk = serializers.UUIDField(source="chunk_id")
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    text = serializers.CharField()


class OtherEntitySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="pk")
    name = serializers.CharField()
    type = serializers.CharField()


class StandingSerializer(serializers.Serializer[Any]):
    """An entity that stands out, with what makes it."""

    entity = OtherEntitySerializer()
    facts = serializers.IntegerField()
    passages = serializers.IntegerField(help_text="Number of passages behind these facts.")
    documents = serializers.IntegerField(help_text="Number of documents with these passages.")


class SaidAboutSerializer(StandingSerializer):
    """An entity that sentences state something about, with the best of them."""

    quote = SourceSpanSerializer(allow_null=True)


class TopicTitleSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="community_id")
    title = serializers.CharField()


class BridgeSerializer(serializers.Serializer[Any]):
    """An entity of one topic with a large share of the facts that link it to another."""

    entity = OtherEntitySerializer()
    own = TopicTitleSerializer(help_text="The topic it belongs to.")
    other = TopicTitleSerializer()
    facts = serializers.IntegerField(help_text="Facts between the two topics that it is part of.")
    of_facts = serializers.IntegerField(help_text="All facts between the two topics.")
