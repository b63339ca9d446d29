"""Title every topic of a workspace after what sets it apart: its headings and its chief names.

A heading is better the more of the topic's mentions are under it, and the fewer of its siblings'; a
name, the more of the topic's relationships it has, and the fewer outside. Each is scored by the
harmonic mean of the two shares: like class-based tf-idf (BERTopic), it weighs what is here against
what is elsewhere. All topics are titled together, from the broadest down; siblings never share one.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, count, groupby
from typing import Any, Final, LiteralString
from uuid import UUID

import regex

from ingestion.models.communities import OTHER_TOPICS, other_topics_id
from kb_project.sql import run_sql
from kb_project.text.names import normalise_name
from kb_project.text.terms import terms
from kb_project.text.words import one_line

UNNAMED: Final = "Unnamed topic"
MOST_WORDS: Final = 6
FEWEST_WORDS: Final = 2
MOST_CHARACTERS: Final = 60
MOST_UNSPACED: Final = 14
"""Characters of a label in a script without spaces; two count as a word."""
MOST_LABELS: Final = 8
"""Candidate labels for a topic's title."""
TITLED: Final = 0.75
NAMED: Final = 0.8
NAMED_OF: Final[Mapping[str, float]] = {"person": 0.6, "place": 0.7, "group": 0.3, "language": 0.3}
"""Worth of a document's title and of a name relative to a heading, which an author chose to
describe what follows. By type, because a chapter is more often called after its subject than after
a place or person.
"""

# "9.11.", "Chapter 8:", "IV.", "Stave One:", "第三章".
_NUMBER: Final = regex.compile(
    r"""^(?:(?:chapter|section|part|appendix|book|volume|stave|act|lesson|unit|step|annex)\s+
          (?:[\dA-Z][\d.]*|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten)\b[.:)\s–—-]*
        | [\dA-Z]?\d*(?:\.\d+)+\.?\s+ | \d+[.):]?\s+ | [IVXLC]+[.):]\s+ | [A-Z][.)]\s+
        | 第[一二三四五六七八九十百\d]+[章节節部回卷]\s* | [一二三四五六七八九十]+[、.．]\s*
        )+""",
    regex.IGNORECASE | regex.VERBOSE,
)
_MARKS: Final = regex.compile(r"^[\s#*_>|•–—-]+|[\s#*_:：.,;，。–—-]+$")
_BREAK: Final = regex.compile(r"\s*[:：;(（\[|]\s*|\s+[–—-]+\s+|[)）\]]")
_CODE: Final = regex.compile(r"[<>{}=\\$~^@_/`]|\.\w{1,4}$|\(\)|^-|\s--")
_WORD: Final = regex.compile(r"[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}'’.&+-]*")
_UNSPACED: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_SAYING: Final = regex.compile(
    r"\p{L}\p{M}*\p{Ll}\p{L}|\p{Lu}{4}|[\p{Lo}]{2}|[\p{Han}]", regex.IGNORECASE
)
_GENERIC: Final = frozenset(
    "introduction overview summary conclusion conclusions contents preface foreword appendix"
    " background notes references abstract general miscellaneous other others index about"
    " home start intro untitled document report annex glossary bibliography acknowledgements"
    " note tip warning caution important rationale purpose requirements options"
    " question questions answer answers example examples details information description"
    " 简介 引言 概述 总结 结论 目录 前言 附录 参考文献 其他".split()
)


@dataclass(frozen=True, slots=True)
class Section:
    """A passage, or its part under one heading, with the headings above it.

    ``document`` is the document's title.
    """

    key: Hashable
    headings: tuple[str, ...]
    document: str


@dataclass(frozen=True, slots=True)
class Name:
    """A member of a topic, with the weight of its relationships: inside the topic, and in total."""

    text: str
    type: str
    inside: float = 0.0
    everywhere: float = 0.0


@dataclass(slots=True)
class TitleSubject:
    """A topic to be named.

    ``mentions`` counts those of its members in each section; ``names`` are its chief members, the
    weightiest first, and ``links`` the weight of all relationships among members.
    """

    id: UUID
    mentions: Counter[Section] = field(default_factory=Counter)
    names: Sequence[Name] = ()
    links: float = 0.0


def titles(siblings: Sequence[TitleSubject], taken: Iterable[str] = ()) -> dict[UUID, str]:
    """Title each of these sibling topics: no two the same, none of the ``taken``."""
    of_heading: Counter[str] = Counter()
    for one in siblings:
        of_heading.update(_headings(one.mentions))
    wanted = sorted(
        ((score, title, one.id) for one in siblings for score, title in _ranked(one, of_heading)),
        key=lambda found: (-found[0], found[1], found[2]),
    )
    given: dict[UUID, str] = {}
    used = {normalise_name(title) for title in taken}
    for _, title, id_ in wanted:
        key = normalise_name(title)
        if id_ not in given and key not in used:
            given[id_] = title
            used.add(key)
    for one in siblings:
        if one.id not in given:
            given[one.id] = _at_worst(one, used)
            used.add(normalise_name(given[one.id]))
    return given


def _at_worst(one: TitleSubject, used: Container[str]) -> str:
    """The topic's chief name, however it looks, with a number if it is taken."""
    name = next((name.text[:MOST_CHARACTERS] for name in one.names), UNNAMED)
    numbered = chain([name], (f"{name} ({number})" for number in count(2)))
    return next(title for title in numbered if normalise_name(title) not in used)


def _headings(mentions: Mapping[Section, int]) -> Counter[str]:
    """How many mentions are under each heading."""
    counts: Counter[str] = Counter()
    for section, number in mentions.items():
        for heading in {section.document, *section.headings}:
            counts[heading] += number
    return counts


def _ranked(one: TitleSubject, of_heading: Mapping[str, int]) -> Iterator[tuple[float, str]]:
    """Acceptable titles, with their scores."""
    scores = _scores(one, of_heading)
    best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_LABELS]
    for label, score in best:
        # A single word is only better than no title at all.
        yield (score if words_in(label) >= FEWEST_WORDS else score / 1_000), label
    for (label, score), (other, more) in combinations(best, 2):
        is_short = words_in(label) < FEWEST_WORDS and words_in(label) + words_in(other) < MOST_WORDS
        if is_short and not _overlap(label, other):
            yield (score + more) / 2, joined(label, other)


def _scores(one: TitleSubject, of_heading: Mapping[str, int]) -> dict[str, float]:
    """How well each label fits the topic, and no other: 0 to 1."""
    scores: dict[str, float] = {}
    documents = {section.document for section in one.mentions}
    for heading, number in _headings(one.mentions).items():
        worth = TITLED if heading in documents else 1.0
        _keep(scores, heading, worth * 2 * number / (one.mentions.total() + of_heading[heading]))
    for name in one.names:
        worth = NAMED_OF.get(name.type, NAMED)
        both = one.links + name.everywhere
        _keep(scores, name.text, worth * 2 * name.inside / both if both else 0.0)
    return scores


def _keep(scores: dict[str, float], text: str, score: float) -> None:
    for label in labels_of(text):
        scores[label] = max(score, scores.get(label, 0.0))


def labels_of(text: str) -> list[str]:
    """The first part of a heading or a name that would do as a title; at most one.

    >>> labels_of("9.11. Hot Plugging: hotplug"), labels_of("STAVE ONE: MARLEY'S GHOST")
    (['Hot Plugging'], ["Marley's Ghost"])
    >>> [labels_of(one) for one in ("Chapter 8", "Introduction", "Who they are", "ls /etc", "RK")]
    [[], [], [], [], []]
    """
    parts = [text, *_BREAK.split(text)]
    for part in parts:
        label = _MARKS.sub("", _NUMBER.sub("", _MARKS.sub("", one_line(part))))
        if _would_do(label):
            return [_as_title(label)]
    return []


def _would_do(label: str) -> bool:
    words = _WORD.findall(label)
    if not terms(label) or _CODE.search(label) or _BREAK.search(label) or not _SAYING.search(label):
        return False
    digits = sum(any(map(str.isdigit, word)) for word in words)
    if label.lower() in _GENERIC or 2 * digits >= len(words):
        return False
    return words_in(label) <= MOST_WORDS and len(label) <= MOST_CHARACTERS


def words_in(label: str) -> int:
    """Number of words; two characters of a script without spaces count as one."""
    unspaced = len(_UNSPACED.findall(label))
    if unspaced > MOST_UNSPACED:
        return MOST_WORDS + 1
    return len(_WORD.findall(_UNSPACED.sub(" ", label))) + (unspaced + 1) // 2


def _as_title(label: str) -> str:
    """Capitalise the first letter, and turn all capitals into title case."""
    letters = [one for one in label if one.isalpha()]
    if len(label.split()) < FEWEST_WORDS or not all(map(str.isupper, letters)):
        return label[:1].upper() + label[1:]
    return " ".join(word.capitalize() for word in label.split())


def _overlap(label: str, other: str) -> bool:
    one, two = (set(normalise_name(text).split()) for text in (label, other))
    return bool(one & two) or label in other or other in label


def joined(label: str, other: str) -> str:
    """
    >>> joined("Scrooge", "Bob Cratchit"), joined("朱元璋", "徐达")
    ('Scrooge and Bob Cratchit', '朱元璋与徐达')
    """
    is_unspaced = _UNSPACED.search(label) and _UNSPACED.search(other)
    return f"{label}与{other}" if is_unspaced else f"{label} and {other}"


# --- loading what topics may be named after -------------------------------------------------------
MOST_NAMES: Final = 15
"""Members that a topic may be named after."""
COMMUNITIES: Final[LiteralString] = """
SELECT level, parent_id, id FROM ingestion_community
WHERE workspace_id = %(workspace)s
ORDER BY level, parent_id NULLS FIRST, id
"""
MENTIONS: Final[LiteralString] = """
SELECT community.id, mention.chunk_id, array_agg(mention.start)
FROM ingestion_community AS community
JOIN ingestion_communitymember AS member
  ON member.workspace_id = %(workspace)s AND member.community_id = community.id
JOIN ingestion_mention AS mention
  ON mention.workspace_id = %(workspace)s AND mention.entity_id = member.entity_id
WHERE community.workspace_id = %(workspace)s AND community.level = %(level)s
GROUP BY community.id, mention.chunk_id
"""

# The members with most relationships inside their topic; a relationship counts for both ends.
NAMES: Final[LiteralString] = """
WITH ends AS (
    SELECT source_id AS entity_id, target_id AS other_id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s
    UNION ALL
    SELECT target_id, source_id, weight FROM ingestion_relationship
    WHERE workspace_id = %(workspace)s
), home AS (
    SELECT member.community_id, member.entity_id
    FROM ingestion_community AS community
    JOIN ingestion_communitymember AS member
      ON member.workspace_id = %(workspace)s AND member.community_id = community.id
    WHERE community.workspace_id = %(workspace)s AND community.level = %(level)s
), tied AS (
    SELECT home.community_id, home.entity_id,
           coalesce(sum(ends.weight ORDER BY ends.weight)
                    FILTER (WHERE there.community_id = home.community_id), 0) AS inside,
           coalesce(sum(ends.weight ORDER BY ends.weight), 0) AS everywhere
    FROM home
    LEFT JOIN ends ON ends.entity_id = home.entity_id
    LEFT JOIN home AS there ON there.entity_id = ends.other_id
    GROUP BY home.community_id, home.entity_id
), ranked AS (
    SELECT tied.*, entity.name, entity.type,
           sum(inside) OVER (PARTITION BY community_id) / 2 AS links,
           row_number() OVER (PARTITION BY community_id
                              ORDER BY inside DESC, entity.rank DESC, entity.mention_count DESC,
                                       entity.name, entity.id) AS place
    FROM tied
    JOIN ingestion_entity AS entity
      ON entity.workspace_id = %(workspace)s AND entity.id = tied.entity_id
)
SELECT community_id, links, name, type, inside, everywhere FROM ranked
WHERE place <= %(most)s
ORDER BY community_id, place
"""

# Each passage with the headings above it and those in it: offset, level and text.
HEADINGS: Final[LiteralString] = """
SELECT chunk.id, chunk.start, document.title, chunk.heading_path, (
       SELECT jsonb_agg(jsonb_build_array(
                  region -> 1, coalesce(region -> 3, '1'),
                  substr(chunk.text, (region ->> 1)::int + 1,
                         (region ->> 2)::int - (region ->> 1)::int))
              ORDER BY (region ->> 1)::int)
       FROM jsonb_array_elements(chunk.regions) AS region
       WHERE region ->> 0 = 'heading')
FROM ingestion_chunk AS chunk
JOIN ingestion_document AS document
  ON document.workspace_id = %(workspace)s AND document.id = chunk.document_id
WHERE chunk.workspace_id = %(workspace)s
"""


@dataclass(frozen=True, slots=True)
class _Passage:
    """The parts of a passage under one heading each, and where they start."""

    starts: Sequence[int]
    sections: Sequence[Section]

    def at(self, offset: int) -> Section:
        return self.sections[max(0, bisect_right(self.starts, offset) - 1)]


def titles_of(workspace_id: UUID) -> dict[UUID, str]:
    """The title of each community, by its id."""
    rest = other_topics_id(workspace_id)
    rows = run_sql(COMMUNITIES, {"workspace": workspace_id})
    if not rows:
        return {}
    passages = {row[0]: _passage(*row) for row in run_sql(HEADINGS, {"workspace": workspace_id})}
    given: dict[UUID, str] = {}
    above: dict[UUID | None, tuple[str, ...]] = {None: (OTHER_TOPICS,)}
    for level, group in groupby(rows, key=lambda row: row[0]):
        subjects = _subjects(workspace_id, level, passages)
        for parent, children in groupby(group, key=lambda row: row[1]):
            ids = [id_ for _, _, id_ in children]
            siblings = [subjects.get(id_) or TitleSubject(id_) for id_ in ids if id_ != rest]
            given |= titles(siblings, above[parent])
            above |= {one.id: (*above[parent], given[one.id]) for one in siblings}
        if rest in subjects:
            given[rest], above[rest] = OTHER_TOPICS, above[None]
    return given


def _subjects(
    workspace_id: UUID, level: int, passages: Mapping[UUID, _Passage]
) -> dict[UUID, TitleSubject]:
    values: dict[str, Any] = {"workspace": workspace_id, "level": level, "most": MOST_NAMES}
    subjects: dict[UUID, TitleSubject] = {}
    for id_, chunk, starts in run_sql(MENTIONS, values):
        if chunk in passages:
            mentions = subjects.setdefault(id_, TitleSubject(id_)).mentions
            mentions.update(passages[chunk].at(start) for start in starts)
    for (id_, links), group in groupby(run_sql(NAMES, values), key=lambda row: row[:2]):
        one = subjects.setdefault(id_, TitleSubject(id_))
        one.links, one.names = links, [Name(*row[2:]) for row in group]
    return subjects


def _passage(
    chunk: UUID, start: int, title: str, path: Sequence[str], headings: str | None
) -> _Passage:
    above = tuple(path)
    starts, paths = [start], [above]
    for offset, level, text in json.loads(headings or "[]"):
        above = (*above[: level - 1], one_line(text))
        starts.append(start + offset)
        paths.append(above)
    sections = [Section((chunk, number), path, title) for number, path in enumerate(paths)]
    return _Passage(starts, sections)
