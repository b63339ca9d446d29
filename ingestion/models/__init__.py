from __future__ import annotations

from ingestion.models.communities import (
    Community,
    CommunityMember,
    CommunityReport,
    Finding,
    FindingEvidence,
    SummaryEdge,
    SummaryNode,
)
from ingestion.models.corpus import CorpusVersion
from ingestion.models.decisions import MergeSuggestion, ResolutionDecision, Verdict
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
    Claim,
    Entity,
    Evidence,
    Fragment,
    GraphTombstone,
    Mention,
    Relationship,
    WalkSnapshot,
)
from ingestion.models.trees import SummaryTree

__all__ = [
    "Alias",
    "Chunk",
    "ChunkEmbedding",
    "ChunkExtraction",
    "Claim",
    "Collection",
    "Community",
    "CommunityMember",
    "CommunityReport",
    "CorpusVersion",
    "Document",
    "DocumentState",
    "DocumentVersion",
    "Entity",
    "Evidence",
    "Finding",
    "FindingEvidence",
    "Fragment",
    "GraphTombstone",
    "IngestionJob",
    "JobKind",
    "Mention",
    "MergeSuggestion",
    "Posting",
    "Relationship",
    "ResolutionDecision",
    "RunState",
    "StageRun",
    "SummaryEdge",
    "SummaryNode",
    "SummaryTree",
    "Verdict",
    "WalkSnapshot",
]
