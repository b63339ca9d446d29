"""How the API represents a place in a document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


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
