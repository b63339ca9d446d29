"""API for searching."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.http import QueryDict
from rest_framework import serializers

from ingestion.knowledge.spans import SaidAboutSerializer
from retrieval.search import scope, services
from retrieval.search.modes import DEFAULT_MODE, MODES
from retrieval.search.query import (
    DEEPEST_LEVEL,
    LONGEST_QUESTION,
    MOST_HITS,
    Selection,
    TopicChoice,
)
from retrieval.search.scope import Scope
from workspaces.api import WaitingAPIView, WorkspaceAPIView, checked, reading

WORDS: Final = ("q", "mode", "top_k", "level", "selection")
LISTS: Final = ("documents", "collections", "tags", "media_types", "include", "exclude")
DATES: Final = ("dated_from", "dated_to", "as_of")


class ScopeSerializer(serializers.Serializer[Any]):
    """What to search. A document must match every filter, with any of the filter's values."""

    documents = serializers.ListField(child=serializers.UUIDField(), required=False)
    collections = serializers.ListField(child=serializers.UUIDField(), required=False)
    tags = serializers.ListField(child=serializers.CharField(), required=False)
    media_types = serializers.ListField(child=serializers.CharField(), required=False)
    dated_from = serializers.DateField(required=False)
    dated_to = serializers.DateField(required=False)
    include = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        help_text="Entities to search for as well; passages that mention them rank higher.",
    )
    exclude = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        help_text="Entities to leave out, with the passages that mention them.",
    )
    as_of = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="Leave out what the text dates otherwise: 2019, 2019-05 or 2019-05-03.",
    )


class TopicsSerializer(serializers.Serializer[Any]):
    """Which topics the mode `global` reads."""

    level = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=DEEPEST_LEVEL,
        help_text="The deepest level of topics to read, 0 for the main topics; if omitted, as deep"
        " as fits.",
    )
    selection = serializers.ChoiceField(
        choices=[each.value for each in Selection],
        required=False,
        help_text="`dynamic`: a model first rates which topics are worth reading; `fixed`: all of"
        " the level are read; `auto`: rated if there are more than one call can read.",
    )


class NoteSerializer(serializers.Serializer[Any]):
    """A remark on the result, for example that vectors are still being computed."""

    code = serializers.CharField()
    sentence = serializers.CharField()


class HitSerializer(serializers.Serializer[Any]):
    """A passage: ``text`` is the document's text from ``start`` to ``end``."""

    document = serializers.UUIDField(source="document_id")
    title = serializers.CharField()
    chunk = serializers.UUIDField(source="chunk_id")
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    score = serializers.FloatField()
    text = serializers.CharField(trim_whitespace=False)
    headings = serializers.ListField(child=serializers.CharField(), source="heading_path")
    page = serializers.IntegerField(allow_null=True)
    why = serializers.ListField(child=serializers.CharField(), help_text="Why it was found.")


class WantedSerializer(TopicsSerializer):
    q = serializers.CharField(max_length=LONGEST_QUESTION)
    mode = serializers.ChoiceField(choices=list(MODES), default=DEFAULT_MODE)
    top_k = serializers.IntegerField(min_value=1, max_value=MOST_HITS, required=False)


class SearchApi(WaitingAPIView):
    """Passages for a question."""

    class QuerySerializer(ScopeSerializer, WantedSerializer):
        pass

    class InputSerializer(WantedSerializer):
        scope = ScopeSerializer(required=False)

    class OutputSerializer(serializers.Serializer[Any]):
        mode = serializers.CharField(source="mode.name")
        hits = HitSerializer(many=True)
        notes = NoteSerializer(many=True)
        known = SaidAboutSerializer(
            many=True,
            help_text="Entities that several of the first ten hits state something about;"
            " people first.",
        )
        trace = serializers.DictField()

    @reading("search_by_address", query=QuerySerializer, gives=OutputSerializer)
    def get(self) -> object:
        """Search with the filters in the query string, where they may be repeated."""
        return self._search(_nested(self.request.query_params))

    @reading("search", takes=InputSerializer, gives=OutputSerializer)
    def post(self) -> object:
        """Search with the filters in the request body."""
        return self._search(self.request.data)

    def _search(self, data: Any) -> object:
        wanted = checked(self.InputSerializer, data)
        found = services.search(
            workspace=self.workspace,
            question=wanted["q"],
            mode=wanted["mode"],
            top_k=wanted.get("top_k", settings.TOP_K),
            scope=Scope.from_json(wanted.get("scope")),
            topics=TopicChoice.from_json(wanted),
        )
        return {
            "mode": found.mode,
            "hits": found.hits,
            "known": services.said_most_about(self.workspace, found.hits),
            "notes": found.notes,
            "trace": found.trace,
        }


def _nested(query: QueryDict) -> dict[str, Any]:
    """Convert a URL's flat filters to the shape of a body; lists may also be comma-separated.

    >>> _nested(QueryDict("q=oil&tags=tide,light&tags=log"))
    {'q': 'oil', 'scope': {'tags': ['tide', 'light', 'log']}}
    """
    words = {name: query[name] for name in WORDS if name in query}
    scope: dict[str, Any] = {
        name: [value for given in query.getlist(name) for value in given.split(",") if value]
        for name in LISTS
        if name in query
    }
    scope |= {name: query[name] for name in DATES if query.get(name)}
    return words | ({"scope": scope} if scope else {})


class CountedSerializer(serializers.Serializer[Any]):
    """A filter value and the number of documents that match it."""

    id = serializers.UUIDField(allow_null=True, help_text="A collection's id; otherwise null.")
    value = serializers.CharField()
    documents = serializers.IntegerField()


class ScopeChoicesApi(WorkspaceAPIView):
    """Filters with the values to choose from."""

    class OutputSerializer(serializers.Serializer[Any]):
        collections = CountedSerializer(many=True)
        tags = CountedSerializer(many=True)
        media_types = CountedSerializer(many=True)
        dated_from = serializers.DateField(allow_null=True, help_text="The earliest document date.")
        dated_to = serializers.DateField(allow_null=True, help_text="The latest document date.")

    @reading("scope_choices", gives=OutputSerializer)
    def get(self) -> object:
        """List the filters' values. Documents and entities have their own list operations."""
        return scope.scope_choices(workspace=self.workspace)
