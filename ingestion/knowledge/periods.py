"""When statements hold, and which later statement replaces one: another holder of what one holds.

A statement holds at a date if its period, widened to its precision, and the date have any time in
common, or if it has no period. A fact that has periods holds if any of them does.

A statement is replaced if a later one names another holder of the same thing, has begun when the
earlier one had ended, or began after it where the text gives the earlier one no end. Only what one
holds at a time counts, by the words of the predicate: an office of something (*director of*), being
led (*headed by*), and a seat (*based in*). Deputies and joint holders do not count. Nothing is
deleted: it is only shown as replaced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import UUID

import regex
from django.db.models import F, Model, Q, QuerySet, Value
from django.db.models.functions import Collate, Concat

from ingestion.models import Entity, Evidence, Relationship
from kb_project.errors import InputError
from kb_project.text.values import AFTER, is_date
from workspaces.models import Workspace

# --- periods --------------------------------------------------------------------------------------
FORM: Final = "Write a year, a month or a day that exists: 2019, 2019-05 or 2019-05-03."
MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
RowT = TypeVar("RowT", bound=Model)


def as_of_date(value: object) -> str:
    """Return the date as ISO 8601, '' for none. Raises InputError for one that does not exist.

    >>> as_of_date(" 2019-05 "), as_of_date(None)
    ('2019-05', '')
    """
    text = str(value or "").strip()
    if text and not is_date(text):
        raise InputError(f"“{text[:40]}” is not a date.", code="invalid_date", next_step=FORM)
    return text


def holding(rows: QuerySet[RowT], as_of: str) -> QuerySet[RowT]:
    """Those of some evidence or claims that hold at a date; all of them for ''."""
    if not as_of:
        return rows
    widened: Any = Collate(Concat(F("period_end"), Value(AFTER)), "C")
    since: Any = Collate(F("period_start"), "C")
    held: QuerySet[RowT] = rows.alias(holds_from=since, holds_to=widened).filter(
        Q(period_start="") | Q(holds_from__lte=as_of + AFTER),
        Q(period_end="") | Q(holds_to__gte=as_of),
    )
    return held


def dated(rows: QuerySet[RowT]) -> QuerySet[RowT]:
    """Those of some evidence or claims that have a period."""
    undated = Q(period_start="", period_end="")
    return rows.filter(~undated)


def in_words(start: str, end: str) -> str:
    """
    >>> in_words("1902", "1911"), in_words("2019-03", ""), in_words("", "2019-03-05")
    ('1902 to 1911', 'since March 2019', 'until 5 March 2019')
    >>> in_words("1823", "1823"), in_words("", "")
    ('1823', '')
    """
    if start and end:
        return readable(start) if start == end else f"{readable(start)} to {readable(end)}"
    return f"since {readable(start)}" if start else f"until {readable(end)}" if end else ""


def readable(date: str) -> str:
    """A date in words; what is not a date stays as it is.

    >>> readable("2019-03"), readable("2019-03-05"), readable("spring")
    ('March 2019', '5 March 2019', 'spring')
    """
    if not is_date(date):
        return date
    year, *rest = date.split("-")
    parts = [str(int(day)) for day in rest[1:]] + [MONTHS[int(month) - 1] for month in rest[:1]]
    return " ".join([*parts, year])


# --- replaced facts -------------------------------------------------------------------------------
MOMENTS: Final = frozenset({"led", "headed", "chaired", "governed", "presided over", "based"})
"""Words that also tell of an event: at a point in time they say nothing about who came next."""
MOST_READ: Final = 2_000
"""Dated statements about the things on one page."""
_OFFICES: Final = (
    r"(?:(?:managing|executive|general|founding|musical|artistic)\s+)?director|head"
    r"|chair(?:man|woman|person)?|president|chief\s+executive(?:\s+officer)?|ceo|cfo|cto|mayor|governor|king|queen|emperor"
    r"|empress|pope|principal|headmaster|headmistress|dean|rector|provost|archbishop|bishop"
    r"|(?:prime|foreign|finance|interior|defen[cs]e)\s+minister|premier|chancellor|capital|harbou?r\s*master"
    r"|editor[- ]in[- ]chief|secretary[- ]general|general\s+secretary|treasurer"
)
_HELD: Final = regex.compile(
    rf"\b(?P<office>{_OFFICES})\s+(?:of|at|for)(?:\s+the)?$", regex.IGNORECASE
)
_HAN_OFFICE: Final = regex.compile(
    "(?P<office>校长|院长|主席|总统|市长|省长|首都|总理|书记|董事长|总经理|所长|馆长|局长|部长|会长)$"
)
_SHARED: Final = regex.compile(
    r"\b(?:deputy|vice|assistant|associate|acting|interim|co|joint|honorary|former(?:ly)?|one|several"
    r"|not|never|candidate|elect|ex)\b|副|代理|名誉|前任",
    regex.IGNORECASE,
)
_LED: Final = regex.compile(
    r"\b(?P<verb>led|headed|chaired|governed|presided\s+over|owned)\s+by$", regex.IGNORECASE
)
_SEAT: Final = regex.compile(
    r"\b(?P<verb>based|headquartered|seated)\s+(?:in|at)$", regex.IGNORECASE
)
_HEADS: Final = regex.compile(
    r"\b(?P<verb>heads|headed|chairs|chaired)(?:\s+the)?$", regex.IGNORECASE
)
_ACTIVE: Final = {"heads": "headed", "headed": "headed", "chairs": "chaired", "chaired": "chaired"}
_ALIKE: Final = {
    "chairman": "chair", "chairwoman": "chair", "chairperson": "chair",
    "chief executive officer": "ceo", "chief executive": "ceo",
    "king": "monarch", "queen": "monarch", "emperor": "monarch",
    "empress": "monarch", "headmistress": "headmaster", "seated": "based", "headquartered": "based",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Post:
    """What one holds at a time: ``of`` is the thing, ``holder`` its place in the relationship."""

    of: UUID
    office: str


@dataclass(frozen=True, slots=True)
class Held:
    """One dated statement of who or what holds a post."""

    post: Post
    holder: UUID
    relationship: UUID
    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """What replaced a fact, and since when."""

    by: Entity
    relationship_id: UUID
    since: str

    @property
    def date(self) -> str:
        return readable(self.since)


def replacements(workspace: Workspace, links: Sequence[Relationship]) -> dict[UUID, Replacement]:
    """Which of some relationships have been replaced, and by what. Two queries at most."""
    own = _statements(workspace, Q(relationship__in=[link.pk for link in links])) if links else []
    things = {one.post.of for one in own}
    if not things:
        return {}
    ends = Q(relationship__source__in=things) | Q(relationship__target__in=things)
    found = replaced(_statements(workspace, ends))
    wanted = {link.pk: found[link.pk] for link in links if link.pk in found}
    rows = Entity.objects.in_workspace(workspace).in_bulk([one.holder for one in wanted.values()])
    return {
        pk: Replacement(rows[later.holder], later.relationship, later.start)
        for pk, later in wanted.items()
        if later.holder in rows
    }


def _statements(workspace: Workspace, which: Q) -> list[Held]:
    rows = dated(Evidence.objects.in_workspace(workspace).filter(which, kind=Evidence.Kind.STATED))
    columns = ("predicate", "relationship__source_id", "relationship__target_id")
    values = rows.order_by("pk").values_list(
        *columns, "relationship_id", "period_start", "period_end"
    )[:MOST_READ]
    held = []
    for predicate, source, target, link, start, end in values:
        post = post_of(predicate, source, target)
        if post is not None:
            holder = source if post.of == target else target
            held.append(Held(post, holder, link, start, end))
    return held


def post_of(predicate: str, source: UUID, target: UUID) -> Post | None:
    """What one holds at a time, if the predicate is about such a thing.

    >>> a, b = UUID(int=1), UUID(int=2)
    >>> post_of("was appointed Managing Director of", a, b) == Post(b, "managing director")
    True
    >>> post_of("is headed by", a, b) == post_of("heads", b, a)
    True
    >>> post_of("was deputy director of", a, b), post_of("wrote", a, b)
    (None, None)
    """
    words = " ".join(predicate.split())
    if _SHARED.search(words):
        return None
    if found := _HELD.search(words) or _HAN_OFFICE.search(words):
        office = " ".join(found["office"].lower().split())
        return Post(target, _ALIKE.get(office, office))
    if found := _LED.search(words) or _SEAT.search(words):
        verb = found["verb"].lower()
        return Post(source, _ALIKE.get(verb, verb))
    if found := _HEADS.search(words):
        return Post(target, _ACTIVE[found["verb"].lower()])
    return None


def replaced(statements: Iterable[Held]) -> dict[UUID, Held]:
    """Each relationship that was replaced, with the first statement that replaced it."""
    by_post: defaultdict[Post, list[Held]] = defaultdict(list)
    for one in statements:
        if not (one.post.office in MOMENTS and one.start == one.end):
            by_post[one.post].append(one)
    found: dict[UUID, Held] = {}
    for held in by_post.values():
        latest: dict[UUID, Held] = {}
        for one in sorted(held, key=lambda one: one.start or one.end):
            latest[one.relationship] = one
        for earlier in latest.values():
            later = [one for one in held if _follows(one, earlier)]
            if later:
                found[earlier.relationship] = min(later, key=lambda one: one.start)
    return found


def _follows(later: Held, earlier: Held) -> bool:
    """Whether a statement begins after another one has ended, or after it has begun if open."""
    if later.holder == earlier.holder or not later.start:
        return False
    if earlier.end:
        return earlier.end <= later.start + AFTER and _is_after(later.start, earlier.start)
    return _is_after(later.start, earlier.start)


def _is_after(date: str, other: str) -> bool:
    """Whether a date is later, as far as both are precise.

    >>> _is_after("1911", "1902"), _is_after("1911-05", "1911"), _is_after("1911", "")
    (True, False, True)
    """
    return date > other + AFTER if other else True
