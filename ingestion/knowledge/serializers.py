"""How the API represents a place in a document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

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
