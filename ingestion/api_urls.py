from __future__ import annotations

from django.urls import include, path

from ingestion import curation_api_urls, life_urls, version_urls
from ingestion.api import (
    communities,
    decisions,
    documents,
    estimates,
    health,
    passages,
    rereading,
    suggestions,
    trees,
)

app_name = "ingestion_api"

urlpatterns = [
    path("documents/", documents.DocumentListApi.as_view(), name="document_list"),
    path("documents/retry/", documents.DocumentsRetryApi.as_view(), name="documents_retry"),
    path("documents/resume/", documents.WorkResumeApi.as_view(), name="work_resume"),
    path("documents/estimate/", estimates.EstimateApi.as_view(), name="document_estimate"),
    path("documents/read-again/", rereading.ReadAgainApi.as_view(), name="read_again"),
    *life_urls.operations,
    path(
        "documents/<uuid:document_id>/text/",
        documents.DocumentTextApi.as_view(),
        name="document_text",
    ),
    path(
        "documents/<uuid:document_id>/tree/",
        trees.DocumentTreeApi.as_view(),
        name="document_tree",
    ),
    path("documents/<uuid:document_id>/versions/", include(version_urls.operations)),
    path("tree/", trees.WorkspaceTreeApi.as_view(), name="workspace_tree"),
    path(
        "documents/<uuid:document_id>/retry/",
        documents.DocumentRetryApi.as_view(),
        name="document_retry",
    ),
    path(
        "documents/<uuid:document_id>/cancel/",
        documents.DocumentCancelApi.as_view(),
        name="document_cancel",
    ),
    path(
        "documents/<uuid:document_id>/passages/problems/",
        passages.PassageProblemsApi.as_view(),
        name="passage_problems",
    ),
    path(
        "documents/<uuid:document_id>/passages/retry/",
        passages.PassageRetryApi.as_view(),
        name="passage_retry",
    ),
    path("decisions/", decisions.DecisionListApi.as_view(), name="decision_list"),
    path(
        "decisions/<uuid:decision_id>/undo/",
        decisions.DecisionUndoApi.as_view(),
        name="decision_undo",
    ),
    path("health/", health.HealthApi.as_view(), name="health"),
    path("suggestions/", suggestions.SuggestionListApi.as_view(), name="suggestion_list"),
    path(
        "suggestions/refused/",
        suggestions.SuggestionRefusedApi.as_view(),
        name="suggestion_refused",
    ),
    path(
        "suggestions/accept/",
        suggestions.SuggestionAcceptApi.as_view(),
        name="suggestion_accept",
    ),
    path(
        "suggestions/reject/",
        suggestions.SuggestionRejectApi.as_view(),
        name="suggestion_reject",
    ),
    path("suggestions/skip/", suggestions.SuggestionSkipApi.as_view(), name="suggestion_skip"),
    path(
        "suggestions/accept-above/",
        suggestions.SuggestionAcceptAboveApi.as_view(),
        name="suggestion_accept_above",
    ),
    *curation_api_urls.urlpatterns,
    path("communities/", communities.CommunityListApi.as_view(), name="community_list"),
    path("communities/retry/", communities.ReportsRetryApi.as_view(), name="reports_retry"),
    path("communities/<uuid:community_id>/", communities.CommunityApi.as_view(), name="community"),
    path(
        "communities/<uuid:community_id>/retry/",
        communities.ReportRetryApi.as_view(),
        name="report_retry",
    ),
]
