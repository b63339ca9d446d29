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
from ingestion.models.consistency import CheckState, ConsistencyCheck
from ingestion.models.corpus import CorpusVersion
from ingestion.models.curation import (
    EntityRuling,
    HiddenName,
    MentionPlacement,
    RelationshipRuling,
)
from ingestion.models.decisions import (
    MergeSuggestion,
    ResolutionDecision,
    SuggestionSkip,
    Verdict,
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
    SentenceVector,
)
from ingestion.models.history import EventKind, HistoryEvent, HistorySubject, SubjectKind
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
from ingestion.models.shelf import (
    ShelvedChunk,
    ShelvedExtraction,
    ShelvedPosting,
    ShelvedSentenceVector,
    ShelvedVector,
)
from ingestion.models.trees import SummaryTree

__all__ = [
    "Alias",
    "CheckState",
    "Chunk",
    "ChunkEmbedding",
    "ChunkExtraction",
    "Claim",
    "Collection",
    "Community",
    "CommunityMember",
    "CommunityReport",
    "ConsistencyCheck",
    "CorpusVersion",
    "Document",
    "DocumentState",
    "DocumentVersion",
    "Entity",
    "EntityRuling",
    "EventKind",
    "Evidence",
    "Finding",
    "FindingEvidence",
    "Fragment",
    "GraphTombstone",
    "HiddenName",
    "HistoryEvent",
    "HistorySubject",
    "IngestionJob",
    "JobKind",
    "Mention",
    "MentionPlacement",
    "MergeSuggestion",
    "Posting",
    "Relationship",
    "RelationshipRuling",
    "ResolutionDecision",
    "RunState",
    "SentenceVector",
    "ShelvedChunk",
    "ShelvedExtraction",
    "ShelvedPosting",
    "ShelvedSentenceVector",
    "ShelvedVector",
    "StageRun",
    "SubjectKind",
    "SuggestionSkip",
    "SummaryEdge",
    "SummaryNode",
    "SummaryTree",
    "Verdict",
    "WalkSnapshot",
]
