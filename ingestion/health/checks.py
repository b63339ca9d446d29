"""The checks, each with its name, sentence, finder and remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, LiteralString

from ingestion.health import files, overrides, references, sql, topic_sql as topics, walked
from ingestion.health.repairs import Remedy
from ingestion.health.report import NOTHING, Drift, Found
from ingestion.health.scope import Scope

Finder = Callable[[Scope], Found]


@dataclass(frozen=True, slots=True)
class Check:
    """One check. ``one`` and ``several`` describe findings, after their number.

    ``stage`` is the workspace stage that rebuilds the data: while it is still ahead, findings are
    waiting, not drift. Without a ``remedy``, a person follows ``advice``.
    """

    name: str
    one: str
    several: str
    find: Finder
    remedy: Remedy | None = None
    stage: str = ""
    advice: str = ""
    is_deep: bool = False

    def sentence(self, count: int) -> str:
        return f"{count:,} {self.one if count == 1 else self.several}."

    def drift(self, found: Found) -> Drift:
        return Drift(
            check=self.name,
            sentence=self.sentence(found.count),
            found=found,
            next_step=self.remedy.sentence if self.remedy else self.advice,
            is_repairable=self.remedy is not None,
        )


def by(statement: LiteralString) -> Finder:
    return lambda scope: scope.find(statement)


def marks_nobody_takes(scope: Scope) -> Found:
    """Find marks that wait for a refresh while none is coming."""
    return NOTHING if scope.is_ahead("describe") else scope.marks


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        "references",
        "row refers to a missing row",
        "rows refer to missing rows",
        references.find,
        Remedy.REMOVE,
    ),
    Check(
        "stray_passages",
        "passage is searched although its document or version is not",
        "passages are searched although their documents or versions are not",
        by(sql.STRAY_CHUNKS),
        Remedy.PUT_AWAY,
    ),
    Check(
        "archived_twice",
        "passage is archived although its document is searched",
        "passages are archived although their documents are searched",
        by(sql.SHELVED_TWICE),
        advice="Disable the document and enable it again.",
    ),
    Check(
        "uncut",
        "document has text but no passages",
        "documents have text but no passages",
        by(sql.UNCUT_VERSIONS),
        Remedy.CUT,
    ),
    Check(
        "text",
        "passage differs from its document's text",
        "passages differ from their documents' texts",
        by(sql.TEXT_DIFFERS),
        Remedy.CUT,
    ),
    Check(
        "words",
        "passage has a wrong number of words in the index",
        "passages have wrong numbers of words in the index",
        by(sql.UNINDEXED_CHUNKS),
        Remedy.SITUATE,
    ),
    Check(
        "words_of_some",
        "passage has words in the index that differ from its text",
        "passages have words in the index that differ from their texts",
        partial(walked.find_in_words, most=walked.SOME),
        Remedy.SITUATE,
    ),
    Check(
        "words_of_all",
        "passage has words in the index that differ from its text",
        "passages have words in the index that differ from their texts",
        walked.find_in_words,
        Remedy.SITUATE,
        is_deep=True,
    ),
    Check(
        "vectors",
        "passage cannot be found by meaning",
        "passages cannot be found by meaning",
        by(sql.CHUNKS_WITHOUT_VECTOR),
        Remedy.EMBED,
        stage="reembed",
    ),
    Check(
        "extractions",
        "passage was never read for facts",
        "passages were never read for facts",
        by(sql.UNREAD_CHUNKS),
        Remedy.EXTRACT,
    ),
    Check(
        "mentions",
        "mention is not at its recorded place",
        "mentions are not at their recorded places",
        by(sql.MISPLACED_MENTIONS),
        Remedy.RESOLVE,
    ),
    Check(
        "evidence",
        "fact cites a place outside its passage",
        "facts cite places outside their passages",
        by(sql.MISPLACED_FACTS),
        Remedy.RESOLVE,
    ),
    Check(
        "rulings",
        "document differs from its extractions and people's decisions",
        "documents differ from their extractions and people's decisions",
        overrides.find,
        Remedy.RESOLVE,
        is_deep=True,
    ),
    Check(
        "undone",
        "decision still applies although its change was undone",
        "decisions still apply although their changes were undone",
        by(sql.RULINGS_OF_UNDONE),
        advice="Find it in the history and undo it again.",
    ),
    Check(
        "entities",
        "entity appears in no document and was not added by a person",
        "entities appear in no document and were not added by a person",
        by(sql.UNSUPPORTED_ENTITIES),
        Remedy.RECOUNT,
    ),
    Check(
        "mention_counts",
        "entity has a wrong count of mentions",
        "entities have wrong counts of mentions",
        by(sql.MISCOUNTED_ENTITIES),
        Remedy.RECOUNT,
    ),
    Check(
        "degrees",
        "entity has a wrong count of relationships",
        "entities have wrong counts of relationships",
        by(sql.MISLINKED_ENTITIES),
        Remedy.RECOUNT,
    ),
    Check(
        "descriptions",
        "entity is described by a missing passage",
        "entities are described by missing passages",
        by(sql.UNQUOTABLE_ENTITIES),
        Remedy.RECOUNT,
    ),
    Check(
        "aliases",
        "alias appears in no document and was not added by a person",
        "aliases appear in no document and were not added by a person",
        by(sql.UNSUPPORTED_ALIASES),
        Remedy.REMOVE_ALIASES,
    ),
    Check(
        "relationships",
        "relationship has no source document and was not added by a person",
        "relationships have no source document and were not added by a person",
        by(sql.UNSUPPORTED_RELATIONSHIPS),
        Remedy.RECOUNT_LINKS,
    ),
    Check(
        "evidence_counts",
        "relationship has a wrong weight or count of quotes",
        "relationships have wrong weights or counts of quotes",
        by(sql.MISCOUNTED_RELATIONSHIPS),
        Remedy.RECOUNT_LINKS,
    ),
    Check(
        "marks",
        "change is waiting for a refresh that was never requested",
        "changes are waiting for a refresh that was never requested",
        marks_nobody_takes,
        Remedy.REFRESH,
    ),
    Check(
        "projection",
        "entity or relationship differs in the graph projection",
        "entities or relationships differ in the graph projection",
        walked.find_in_projection,
        Remedy.PROJECT,
    ),
    Check(
        "ungrouped",
        "entity is in no topic, or in two",
        "entities are in no topic, or in two",
        by(topics.UNGROUPED_ENTITIES),
        Remedy.REFRESH,
        stage="communities",
    ),
    Check(
        "topic_sizes",
        "topic has a wrong count of members",
        "topics have wrong counts of members",
        by(topics.MISCOUNTED_COMMUNITIES),
        Remedy.REFRESH,
        stage="communities",
    ),
    Check(
        "topic_levels",
        "topic is not nested correctly",
        "topics are not nested correctly",
        by(topics.MISNESTED_COMMUNITIES),
        Remedy.REFRESH,
        stage="communities",
    ),
    Check(
        "reports",
        "topic has no report",
        "topics have no report",
        by(topics.UNREPORTED_COMMUNITIES),
        Remedy.REPORT,
        stage="reports",
    ),
    Check(
        "findings",
        "sentence of a report has no source, or one outside its passage",
        "sentences of reports have no source, or one outside its passage",
        by(topics.UNSUPPORTED_FINDINGS),
        Remedy.REPORT,
        stage="reports",
    ),
    Check(
        "report_references",
        "sentence of a report refers to something missing",
        "sentences of reports refer to something missing",
        by(topics.MISSING_REFERENCES),
        Remedy.REPORT,
        stage="reports",
    ),
    Check(
        "trees",
        "summary tree is incomplete",
        "summary trees are incomplete",
        by(topics.BROKEN_TREES),
        Remedy.GROW,
        stage="tree",
    ),
    Check(
        "stale_trees",
        "summary tree covers outdated passages",
        "summary trees cover outdated passages",
        walked.find_in_summaries,
        Remedy.REFRESH,
        stage="tree",
    ),
    Check(
        "snapshot",
        "passage, name or mention differs in the walk's snapshot",
        "passages, names or mentions differ in the walk's snapshot",
        walked.find_in_walk,
        Remedy.WALK,
        stage="snapshot",
    ),
    Check(
        "missing_files",
        "document's file is missing from disk",
        "documents' files are missing from disk",
        files.missing,
        advice="Restore the file from a backup, or add it again as a new version; its text and"
        " facts are untouched.",
    ),
    Check(
        "orphan_files",
        "file on disk belongs to no document",
        "files on disk belong to no document",
        files.orphans,
        Remedy.SET_ASIDE,
    ),
)
