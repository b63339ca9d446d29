"""The checks, each with its name, sentence, finder and remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, LiteralString

from ingestion.health import files, overrides, references, sql, walked
from ingestion.health import topic_sql as topics
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
        "row names something that is not there",
        "rows name something that is not there",
        references.find,
        Remedy.REMOVE,
    ),
    Check(
        "stray_passages",
        "passage is searched though its document or version is not",
        "passages are searched though their documents or versions are not",
        by(sql.STRAY_CHUNKS),
        Remedy.PUT_AWAY,
    ),
    Check(
        "archived_twice",
        "passage is archived though its document is searched",
        "passages are archived though their documents are searched",
        by(sql.SHELVED_TWICE),
        advice="Disable the document and enable it again.",
    ),
    Check(
        "uncut",
        "document has text and no passages",
        "documents have text and no passages",
        by(sql.UNCUT_VERSIONS),
        Remedy.CUT,
    ),
    Check(
        "text",
        "passage is not what its document says at that place",
        "passages are not what their documents say at that place",
        by(sql.TEXT_DIFFERS),
        Remedy.CUT,
    ),
    Check(
        "words",
        "passage has other words in the index than it says",
        "passages have other words in the index than they say",
        by(sql.UNINDEXED_CHUNKS),
        Remedy.SITUATE,
    ),
    Check(
        "words_of_some",
        "passage has other words in the index than its text",
        "passages have other words in the index than their texts",
        partial(walked.find_in_words, most=walked.SOME),
        Remedy.SITUATE,
    ),
    Check(
        "words_of_all",
        "passage has other words in the index than its text",
        "passages have other words in the index than their texts",
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
        "mention is not where it says",
        "mentions are not where they say",
        by(sql.MISPLACED_MENTIONS),
        Remedy.RESOLVE,
    ),
    Check(
        "evidence",
        "fact rests on a place outside of its passage",
        "facts rest on places outside of their passages",
        by(sql.MISPLACED_FACTS),
        Remedy.RESOLVE,
    ),
    Check(
        "rulings",
        "document says something else by its extractions and by what people decided",
        "documents say something else by their extractions and by what people decided",
        overrides.find,
        Remedy.RESOLVE,
        is_deep=True,
    ),
    Check(
        "undone",
        "decision still counts though the change it came with was undone",
        "decisions still count though the changes they came with were undone",
        by(sql.RULINGS_OF_UNDONE),
        advice="Find it in the history and undo it again.",
    ),
    Check(
        "entities",
        "entity appears in no document and was made by no one",
        "entities appear in no document and were made by no one",
        by(sql.UNSUPPORTED_ENTITIES),
        Remedy.RECOUNT,
    ),
    Check(
        "mention_counts",
        "entity says a wrong number of mentions",
        "entities say wrong numbers of mentions",
        by(sql.MISCOUNTED_ENTITIES),
        Remedy.RECOUNT,
    ),
    Check(
        "degrees",
        "entity says a wrong number of links",
        "entities say wrong numbers of links",
        by(sql.MISLINKED_ENTITIES),
        Remedy.RECOUNT,
    ),
    Check(
        "descriptions",
        "entity is described by a passage that is not there",
        "entities are described by passages that are not there",
        by(sql.UNQUOTABLE_ENTITIES),
        Remedy.RECOUNT,
    ),
    Check(
        "aliases",
        "alias appears in no document and was given by no one",
        "aliases appear in no document and were given by no one",
        by(sql.UNSUPPORTED_ALIASES),
        Remedy.REMOVE_ALIASES,
    ),
    Check(
        "relationships",
        "link has no source document and was made by no one",
        "links have no source document and were made by no one",
        by(sql.UNSUPPORTED_RELATIONSHIPS),
        Remedy.RECOUNT_LINKS,
    ),
    Check(
        "evidence_counts",
        "link has a wrong weight or number of quotes",
        "links have wrong weights or numbers of quotes",
        by(sql.MISCOUNTED_RELATIONSHIPS),
        Remedy.RECOUNT_LINKS,
    ),
    Check(
        "marks",
        "change waits for a refresh that was never requested",
        "changes wait for a refresh that was never requested",
        marks_nobody_takes,
        Remedy.REFRESH,
    ),
    Check(
        "projection",
        "entity or link is another one in the graph projection",
        "entities or links are others in the graph projection",
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
        "topic is of another size than it says",
        "topics are of other sizes than they say",
        by(topics.MISCOUNTED_COMMUNITIES),
        Remedy.REFRESH,
        stage="communities",
    ),
    Check(
        "topic_levels",
        "topic does not stand below the one that holds it",
        "topics do not stand below those that hold them",
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
        "sentence of a report rests on nothing, or on a place outside of its passage",
        "sentences of reports rest on nothing, or on places outside of their passages",
        by(topics.UNSUPPORTED_FINDINGS),
        Remedy.REPORT,
        stage="reports",
    ),
    Check(
        "report_references",
        "sentence of a report names something that is not there",
        "sentences of reports name something that is not there",
        by(topics.MISSING_REFERENCES),
        Remedy.REPORT,
        stage="reports",
    ),
    Check(
        "trees",
        "summary tree is not whole",
        "summary trees are not whole",
        by(topics.BROKEN_TREES),
        Remedy.GROW,
        stage="tree",
    ),
    Check(
        "stale_trees",
        "summary tree is of other passages than there are",
        "summary trees are of other passages than there are",
        walked.find_in_summaries,
        Remedy.REFRESH,
        stage="tree",
    ),
    Check(
        "snapshot",
        "passage, name or mention is another one where links are followed",
        "passages, names or mentions are others where links are followed",
        walked.find_in_walk,
        Remedy.WALK,
        stage="snapshot",
    ),
    Check(
        "missing_files",
        "file of a document is not on disk",
        "files of documents are not on disk",
        files.missing,
        advice="Bring the file back from a backup, or add it again as a new version; its text and"
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
