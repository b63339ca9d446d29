from __future__ import annotations

from django.urls import path

from ingestion.api import curation, history, relationships

urlpatterns = [
    path("entities/", curation.CuratedEntityListApi.as_view(), name="entity_list"),
    path("entities/merge/", curation.EntityMergeApi.as_view(), name="entity_merge"),
    path("entities/different/", curation.EntityDifferApi.as_view(), name="entity_differ"),
    path("entities/<uuid:entity_id>/", curation.CuratedEntityApi.as_view(), name="entity"),
    path(
        "entities/<uuid:entity_id>/split/", curation.EntitySplitApi.as_view(), name="entity_split"
    ),
    path("entities/<uuid:entity_id>/move/", curation.EntityMoveApi.as_view(), name="entity_move"),
    path("relationships/", relationships.RelationshipListApi.as_view(), name="relationship_list"),
    path(
        "relationships/<uuid:relationship_id>/",
        relationships.RelationshipApi.as_view(),
        name="relationship",
    ),
    path("history/", history.HistoryListApi.as_view(), name="history_list"),
    path("history/<uuid:event_id>/", history.HistoryApi.as_view(), name="history_event"),
    path("history/<uuid:event_id>/undo/", history.HistoryUndoApi.as_view(), name="history_undo"),
]
