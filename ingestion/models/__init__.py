from __future__ import annotations

from ingestion.models.cells import Cell, CellIndex
from ingestion.models.collections import Collection, CollectionGrant
from ingestion.models.communities import (
    Clustering,
    Community,
    CommunityMember,
    CommunityReport,
    EntityPosition,
    Finding,
    FindingEvidence,
    SummaryEdge,
    SummaryLayout,
    SummaryNode,
    SummaryTree,
    TopicWatch,
)
from ingestion.models.conflicts import (
    Conflict,
    ConflictKind,
    ConflictRuling,
    ConflictSide,
    ConflictState,
    ConflictVerdict,
)
from ingestion.models.decisions import (
    ClaimRuling,
    EntityRuling,
    HiddenName,
    MentionPlacement,
    MentionPosition,
    MergeSuggestion,
    RelationshipRuling,
    ResolutionDecision,
    SuggestionSkip,
    SuggestionState,
    Verdict,
)
from ingestion.models.documents import (
    ArchivedChunk,
    ArchivedExtraction,
    ArchivedPosting,
    ArchivedSentenceVector,
    ArchivedVector,
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    Document,
    DocumentState,
    DocumentVersion,
    Posting,
    SentenceVector,
)
from ingestion.models.history import EventKind, HistoryEvent, HistorySubject, SubjectKind
from ingestion.models.insights import LoneDocument, StructureState, TopicBridge, TopicStanding
from ingestion.models.jobs import (
    CheckState,
    CommonTerms,
    ConsistencyCheck,
    CorpusCount,
    CorpusVersion,
    GraphImport,
    ImportState,
    IngestionJob,
    JobKind,
    LaneCall,
    NameChange,
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
