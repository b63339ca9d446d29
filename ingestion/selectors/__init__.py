"""Reads of ingestion for pages and the API."""

from __future__ import annotations

from ingestion.selectors.documents import (
    DocumentRow,
    StageStep,
    WorkspaceCounts,
    chunks_of,
    document_get,
    document_row,
    document_rows,
    document_version,
    documents,
    entities_in,
    is_refreshing,
    state_counts,
    version_of,
    versions_of,
    workspace_counts,
)
from ingestion.selectors.estimates import (
    FileSize,
    estimate_for_documents,
    estimate_for_files,
)
from ingestion.selectors.knowledge import (
    EntityView,
    Fact,
    entities,
    entity_get,
    entity_types,
    entity_view,
)
from ingestion.selectors.outcomes import (
    DocumentOutcome,
    document_outcomes,
    has_unfinished_work,
)
from ingestion.selectors.spans import SourceSpan, spans_of
from ingestion.selectors.topics import (
    FindingView,
    TopicNode,
    TopicView,
    topic_tree,
    topic_view,
)

__all__ = [
    "DocumentOutcome",
    "DocumentRow",
    "EntityView",
    "Fact",
    "FileSize",
    "FindingView",
    "SourceSpan",
    "StageStep",
    "TopicNode",
    "TopicView",
    "WorkspaceCounts",
    "chunks_of",
    "document_get",
    "document_outcomes",
    "document_row",
    "document_rows",
    "document_version",
    "documents",
    "entities",
    "entities_in",
    "entity_get",
    "entity_types",
    "entity_view",
    "estimate_for_documents",
    "estimate_for_files",
    "has_unfinished_work",
    "is_refreshing",
    "spans_of",
    "state_counts",
    "topic_tree",
    "topic_view",
    "version_of",
    "versions_of",
    "workspace_counts",
]
