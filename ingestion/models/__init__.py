from __future__ import annotations

from ingestion.models.communities import (
    Community,
    CommunityMember,
    CommunityReport,
    Finding,
    FindingEvidence,
)
from ingestion.models.documents import (
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    Collection,
    Document,
    DocumentState,
    DocumentVersion,
    Posting,
)
from ingestion.models.jobs import (
    IngestionJob,
    JobKind,
    RunState,
    StageRun,
)
from ingestion.models.knowledge import (
    Alias,
    Entity,
    Evidence,
    GraphTombstone,
    Mention,
    MergeSuggestion,
    Relationship,
    WalkSnapshot,
)

__all__ = [
    "Alias",
    "Chunk",
    "ChunkEmbedding",
    "ChunkExtraction",
    "Collection",
    "Community",
    "CommunityMember",
    "CommunityReport",
    "Document",
    "DocumentState",
    "DocumentVersion",
    "Entity",
    "Evidence",
    "Finding",
    "FindingEvidence",
    "GraphTombstone",
    "IngestionJob",
    "JobKind",
    "Mention",
    "MergeSuggestion",
    "Posting",
    "Relationship",
    "RunState",
    "StageRun",
    "WalkSnapshot",
]
