"""Addresses of the API of ingestion, below a workspace."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from ingestion import tuning
from ingestion.audit import api as audit
from ingestion.curation import (
    api as curation,
    conflicts_api as conflicts,
    facts_api as facts,
    history_api as history,
)
from ingestion.documents.api import documents, lifecycle, processing, versions
from ingestion.documents.collections import api as collections
from ingestion.editions import api as editions
from ingestion.exchange import api as exchange
from ingestion.explorer import api as explorer
from ingestion.graph import api as graph
from ingestion.health import api as health
from ingestion.suggestions import api as suggestions
from ingestion.topics import api as topics

app_name = "ingestion_api"

document_versions: list[URLPattern | URLResolver] = [
    path("", versions.VersionListApi.as_view(), name="version_list"),
    path("estimate/", versions.VersionEstimateApi.as_view(), name="version_estimate"),
    path("<int:number>/changes/", versions.VersionChangesApi.as_view(), name="version_changes"),
    path("<int:number>/restore/", versions.VersionRestoreApi.as_view(), name="version_restore"),
]

document: list[URLPattern | URLResolver] = [
    path("", lifecycle.LivingDocumentApi.as_view(), name="document"),
    path("losses/", lifecycle.DocumentLossesApi.as_view(), name="document_losses"),
    path("disable/", lifecycle.DocumentDisableApi.as_view(), name="document_disable"),
    path("enable/", lifecycle.DocumentEnableApi.as_view(), name="document_enable"),
    path("trash/", lifecycle.DocumentTrashApi.as_view(), name="document_trash"),
    path("restore/", lifecycle.DocumentRestoreApi.as_view(), name="document_restore"),
    path("text/", documents.DocumentTextApi.as_view(), name="document_text"),
    path("tree/", documents.DocumentTreeApi.as_view(), name="document_tree"),
    path("versions/", include(document_versions)),
    path("retry/", processing.DocumentRetryApi.as_view(), name="document_retry"),
    path("cancel/", processing.DocumentCancelApi.as_view(), name="document_cancel"),
    path("passages/problems/", processing.PassageProblemsApi.as_view(), name="passage_problems"),
    path("passages/retry/", processing.PassageRetryApi.as_view(), name="passage_retry"),
]

all_documents: list[URLPattern | URLResolver] = [
    path("", documents.DocumentListApi.as_view(), name="document_list"),
    path("retry/", processing.DocumentsRetryApi.as_view(), name="documents_retry"),
    path("resume/", processing.WorkResumeApi.as_view(), name="work_resume"),
    path("estimate/", processing.EstimateApi.as_view(), name="document_estimate"),
    path("read-again/", processing.ReadAgainApi.as_view(), name="read_again"),
    path("trash/", lifecycle.DocumentsTrashApi.as_view(), name="documents_trash"),
    path("<uuid:document_id>/", include(document)),
]

all_collections: list[URLPattern | URLResolver] = [
    path("", collections.CollectionListApi.as_view(), name="collection_list"),
    path("<uuid:collection_id>/", collections.CollectionApi.as_view(), name="collection"),
    path(
        "<uuid:collection_id>/documents/",
        collections.CollectionDocumentsApi.as_view(),
        name="collection_documents",
    ),
]

entities: list[URLPattern | URLResolver] = [
    path("", curation.EntityListApi.as_view(), name="entity_list"),
    path("merge/", curation.EntityMergeApi.as_view(), name="entity_merge"),
    path("different/", curation.EntityDifferApi.as_view(), name="entity_differ"),
    path("<uuid:entity_id>/", curation.EntityApi.as_view(), name="entity"),
    path("<uuid:entity_id>/facts/", facts.EntityFactsApi.as_view(), name="entity_facts"),
    path("<uuid:entity_id>/claims/", facts.EntityClaimsApi.as_view(), name="entity_claims"),
    path("<uuid:entity_id>/split/", curation.EntitySplitApi.as_view(), name="entity_split"),
    path("<uuid:entity_id>/move/", curation.EntityMoveApi.as_view(), name="entity_move"),
]

pairs: list[URLPattern | URLResolver] = [
    path("", suggestions.SuggestionListApi.as_view(), name="suggestion_list"),
    path("refused/", suggestions.SuggestionRefusedApi.as_view(), name="suggestion_refused"),
    path("accept/", suggestions.SuggestionAcceptApi.as_view(), name="suggestion_accept"),
    path("reject/", suggestions.SuggestionRejectApi.as_view(), name="suggestion_reject"),
    path("skip/", suggestions.SuggestionSkipApi.as_view(), name="suggestion_skip"),
    path(
        "accept-above/",
        suggestions.SuggestionAcceptAboveApi.as_view(),
        name="suggestion_accept_above",
    ),
]

disputes: list[URLPattern | URLResolver] = [
    path("", conflicts.ConflictListApi.as_view(), name="conflict_list"),
    path("<uuid:conflict_id>/", conflicts.ConflictApi.as_view(), name="conflict"),
    path(
        "<uuid:conflict_id>/decide/", conflicts.ConflictDecideApi.as_view(), name="conflict_decide"
    ),
    path(
        "<uuid:conflict_id>/reopen/", conflicts.ConflictReopenApi.as_view(), name="conflict_reopen"
    ),
]

communities: list[URLPattern | URLResolver] = [
    path("", topics.CommunityListApi.as_view(), name="community_list"),
    path("retry/", topics.ReportsRetryApi.as_view(), name="reports_retry"),
    path("map/", topics.TopicMapApi.as_view(), name="community_map"),
    path("watched/", topics.WatchListApi.as_view(), name="community_watched"),
    path("bridges/", topics.TopicBridgesApi.as_view(), name="topic_bridges"),
    path("<uuid:community_id>/", topics.CommunityApi.as_view(), name="community"),
    path("<uuid:community_id>/watch/", topics.WatchApi.as_view(), name="community_watch"),
    path(
        "<uuid:community_id>/watch/seen/",
        topics.WatchSeenApi.as_view(),
        name="community_seen",
    ),
    path("<uuid:community_id>/retry/", topics.ReportRetryApi.as_view(), name="report_retry"),
]

parts_of_graph: list[URLPattern | URLResolver] = [
    path("neighbours/", graph.NeighboursApi.as_view(), name="graph_neighbours"),
    path("paths/", graph.PathsApi.as_view(), name="graph_paths"),
    path("subgraph/", graph.SubgraphApi.as_view(), name="graph_subgraph"),
    path("view/", explorer.GraphViewApi.as_view(), name="graph_view"),
    path("export/", exchange.GraphExportApi.as_view(), name="graph_export"),
    path("imports/", exchange.GraphImportListApi.as_view(), name="graph_import_list"),
    path("imports/<uuid:import_id>/", exchange.GraphImportApi.as_view(), name="graph_import"),
]

access: list[URLPattern | URLResolver] = [
    path("", editions.CollectionAccessApi.as_view(), name="collection_access"),
    path("grants/", editions.GrantListApi.as_view(), name="grant_list"),
    path("grants/<uuid:grant_id>/", editions.GrantApi.as_view(), name="grant"),
]

urlpatterns = [
    path("collections/<uuid:collection_id>/access/", include(access)),
    path("documents/", include(all_documents)),
    path("collections/", include(all_collections)),
    path("trash/", lifecycle.TrashApi.as_view(), name="trash"),
    path("trash/restore/", lifecycle.TrashRestoreApi.as_view(), name="trash_restore"),
    path("tree/", documents.WorkspaceTreeApi.as_view(), name="workspace_tree"),
    path("entities/", include(entities)),
    path("graph/", include(parts_of_graph)),
    path("claims/", graph.ClaimListApi.as_view(), name="claim_list"),
    path("relationships/", facts.RelationshipListApi.as_view(), name="relationship_list"),
    path(
        "relationships/<uuid:relationship_id>/",
        facts.RelationshipApi.as_view(),
        name="relationship",
    ),
    path(
        "relationships/<uuid:relationship_id>/evidence/",
        facts.RelationshipEvidenceApi.as_view(),
        name="relationship_evidence",
    ),
    path("claims/<uuid:claim_id>/", facts.ClaimApi.as_view(), name="claim"),
    path("decisions/", history.DecisionListApi.as_view(), name="decision_list"),
    path(
        "decisions/<uuid:decision_id>/undo/",
        history.DecisionUndoApi.as_view(),
        name="decision_undo",
    ),
    path("suggestions/", include(pairs)),
    path("conflicts/", include(disputes)),
    path("communities/", include(communities)),
    path("audit/", audit.AuditListApi.as_view(), name="audit_list"),
    path("history/", history.HistoryListApi.as_view(), name="history_list"),
    path("history/<uuid:event_id>/", history.HistoryApi.as_view(), name="history_event"),
    path("history/<uuid:event_id>/undo/", history.HistoryUndoApi.as_view(), name="history_undo"),
    path("health/", health.HealthApi.as_view(), name="health"),
    path("tuning/", tuning.TuningApi.as_view(), name="tuning"),
    path("tuning/cancel/", tuning.TuningCancelApi.as_view(), name="tuning_cancel"),
]
