"""Events of the history as sentences, active and passive, and as toasts with an undo button.

A toast shows on the next page what was just done. It uses Django's messages, so it survives a
redirect and needs no script; a script moves it into the corner, where it is announced
(``static/js/toast.js``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from ingestion.models import EventKind, HistoryEvent
from kb_project.text.words import counted
from workspaces.models import Workspace

MOST_NAMES: Final = 3
SYSTEM: Final = "Concordance"


def who(event: HistoryEvent) -> str:
    if event.user:
        return str(event.user)
    return SYSTEM if event.via in ("schedule", "command") else "a former member"


def on_day(event: HistoryEvent) -> str:
    """The day, with the year if it is not the current one."""
    day = timezone.localtime(event.created_at)
    year = "" if day.year == timezone.localtime().year else f" {day.year}"
    return f"{day.day} {day:%b}{year}"


def active(event: HistoryEvent) -> str:
    """Active voice: "Ana merged 'Acme Inc.' into 'Acme Ltd'"."""
    person = who(event)
    return f"{person[0].upper()}{person[1:]} {change(event)}"


def passive(event: HistoryEvent, *, of: str = "", again: bool = False) -> str:
    """Passive voice: "'Acme Ltd' was merged into 'Acme Group' by Ben on 4 Nov".

    ``of`` is the id of the subject whose view the sentence takes.
    """
    sentence = _PASSIVE.get(event.kind, _was("changed"))(event, of)
    if again:
        sentence = sentence.replace(" merged into ", " merged again into ", 1)
    return f"{sentence} by {who(event)} on {on_day(event)}"


def change(event: HistoryEvent) -> str:
    """The active sentence without its subject."""
    return _ACTIVE.get(event.kind, _plain("changed"))(event)


# --- names ----------------------------------------------------------------------------------------
def quoted(names: Sequence[str], total: int = 0) -> str:
    """List the first names; ``total`` counts them all where only some are known.

    >>> quoted(["A", "B"]), quoted(list("ABCDE")), quoted(list("ABCDE"), 1000)
    ("'A' and 'B'", "'A', 'B', 'C' and 2 others", "'A', 'B', 'C' and 997 others")
    """
    shown = [f"'{name}'" for name in names[:MOST_NAMES]]
    left = max(len(names), total) - len(shown)
    if left:
        shown.append(f"{left:,} others" if left > 1 else "1 other")
    if len(shown) < 2:
        return "".join(shown) or "something"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def names_in(event: HistoryEvent) -> Mapping[str, str]:
    found: Mapping[str, str] = event.details.get("names", {})
    return found


def name(event: HistoryEvent, one: Any) -> str:
    """The quoted name of one of its subjects at the time."""
    return f"'{names_in(event).get(str(one), 'something')}'"


def _names(event: HistoryEvent, ids: Sequence[str]) -> str:
    return quoted([names_in(event).get(one, "something") for one in ids])


def _all(event: HistoryEvent) -> str:
    """All its subjects. Of very many documents, only some names are kept."""
    names = sorted(names_in(event).values())
    if not event.kind.startswith("document_"):
        return quoted(names)
    return quoted(names, event.details.get("counts", {}).get("documents", 0))


def _aliases(names: Sequence[str]) -> str:
    return f"the {'alias' if len(names) == 1 else 'aliases'} {quoted(names)}"


ActiveSentence = Callable[[HistoryEvent], str]
PassiveSentence = Callable[[HistoryEvent, str], str]


def _plain(verb: str, after: str = "") -> ActiveSentence:
    return lambda event: f"{verb} {_all(event)}{after}"


def _was(verb: str) -> PassiveSentence:
    def sentence(event: HistoryEvent, of: str) -> str:
        names = names_in(event)
        is_one = of in names or len(names) < 2
        shown = name(event, of) if of in names else _all(event)
        return f"{shown} {'was' if is_one else 'were'} {verb}"

    return sentence


# --- entities -------------------------------------------------------------------------------------
def _merged(event: HistoryEvent) -> str:
    details = event.details
    return f"merged {_names(event, details['others'])} into {name(event, details['kept'])}"


def _merged_into(event: HistoryEvent, of: str) -> str:
    details = event.details
    others = [of] if of in details["others"] else details["others"]
    was = "was" if len(others) == 1 else "were"
    return f"{_names(event, others)} {was} merged into {name(event, details['kept'])}"


def _split(event: HistoryEvent) -> str:
    into, source = event.details["into"], event.details["from"]
    return f"split {name(event, into)} off from {name(event, source)}"


def _split_off(event: HistoryEvent, of: str) -> str:
    into, source = event.details["into"], event.details["from"]
    return f"{name(event, into)} was split off from {name(event, source)}"


def _moved_mentions(event: HistoryEvent) -> str:
    number = event.details.get("counts", {}).get("mentions", 0)
    mentions = "1 mention" if number == 1 else f"{number:,} mentions"
    source, into = event.details["from"], event.details["into"]
    return f"moved {mentions} from {name(event, source)} to {name(event, into)}"


def _were_moved(event: HistoryEvent, of: str) -> str:
    source, into = event.details["from"], event.details["into"]
    return f"Mentions of {name(event, source)} were moved to {name(event, into)}"


_EDITS: Final[Mapping[str, Callable[[str, Any, Any], str]]] = {
    "name": lambda it, old, new: f"renamed '{old}' to '{new}'",
    "type": lambda it, old, new: f"changed the type of {it} from {old or 'none'} to {new}",
    "description": lambda it, old, new: f"edited the description of {it}",
    "add_aliases": lambda it, old, new: f"added {_aliases(new)} to {it}",
    "remove_aliases": lambda it, old, new: f"removed {_aliases(old)} from {it}",
    "is_protected": lambda it, old, new: f"{'protected' if new else 'unprotected'} {it}",
    "is_confirmed": lambda it, old, new: f"confirmed {it}",
}


def _edited(event: HistoryEvent) -> str:
    before, after = event.details.get("before", {}), event.details.get("after", {})
    it = name(event, event.details.get("entity"))
    edits = [_EDITS[one](it, before.get(one), after[one]) for one in _EDITS if one in after]
    return " and ".join(edits) or f"edited {it}"


# --- links, decisions and undoing -----------------------------------------------------------------
def _link(event: HistoryEvent) -> str:
    ends = event.details
    return f"fact that links {name(event, ends.get('source'))} to {name(event, ends.get('target'))}"


def _linked(event: HistoryEvent) -> str:
    ends = event.details
    return f"linked {name(event, ends.get('source'))} to {name(event, ends.get('target'))}"


def _link_was(verb: str) -> PassiveSentence:
    return lambda event, of: f"The {_link(event)} was {verb}"


def _claim(verb: str) -> ActiveSentence:
    return lambda event: f"{verb} a claim about {name(event, event.details.get('subject'))}"


def _claim_was(verb: str) -> PassiveSentence:
    return lambda event, of: f"A claim about {name(event, event.details.get('subject'))} was {verb}"


def _conflict(event: HistoryEvent) -> str:
    verb = "left" if event.details.get("verdict") == "left" else "decided"
    state = " open" if verb == "left" else ""
    return f"{verb} a conflict about {name(event, event.details.get('subject'))}{state}"


def _conflict_was(event: HistoryEvent, of: str) -> str:
    verb = "left open" if event.details.get("verdict") == "left" else "decided"
    return f"A conflict about {name(event, event.details.get('subject'))} was {verb}"


def _decision(event: HistoryEvent) -> str:
    left, right = event.details.get("left", ""), event.details.get("right", "")
    if not right:
        return f"undid a decision about the name '{left}'"
    are = "are the same" if event.details.get("verdict") == "same" else "are not the same"
    return f"undid the decision that '{left}' and '{right}' {are}"


def _replaced(event: HistoryEvent) -> str:
    number = event.details.get("after", {}).get("version")
    verb = "restored" if event.details.get("is_restored") else "added"
    return f"{verb} version {number} of {quoted(list(names_in(event).values()))}"


# --- collections ----------------------------------------------------------------------------------
def _moved(event: HistoryEvent) -> str:
    collection = event.details.get("after", {}).get("collection")
    if not collection:
        return f"took {_all(event)} out of {_collections_left(event)}"
    return f"moved {_all(event)} to the collection '{collection}'"


def _was_moved(event: HistoryEvent, of: str) -> str:
    collection = event.details.get("after", {}).get("collection")
    if not collection:
        return _was(f"taken out of {_collections_left(event)}")(event, of)
    return _was(f"moved to the collection '{collection}'")(event, of)


def _collections_left(event: HistoryEvent) -> str:
    left = sorted({name for name in event.details.get("collections", {}).values() if name})
    return f"the collection{'s' if len(left) > 1 else ''} {quoted(left)}"


def _renamed(event: HistoryEvent) -> str:
    before, after = _names_of_renamed(event)
    return f"renamed the collection '{before}' to '{after}'"


def _was_renamed(event: HistoryEvent, of: str) -> str:
    before, after = _names_of_renamed(event)
    return f"The collection '{before}' was renamed to '{after}'"


def _names_of_renamed(event: HistoryEvent) -> tuple[str, str]:
    before, after = (event.details.get(one, {}) for one in ("before", "after"))
    return before.get("name", ""), after.get("name", "")


# --- imports --------------------------------------------------------------------------------------
def _was_imported(event: HistoryEvent, of: str) -> str:
    if of in names_in(event):
        return f"{name(event, of)} was imported from {_file(event)}"
    return f"{_what_was_imported(event)} were imported"


def _what_was_imported(event: HistoryEvent) -> str:
    entities = counted(event.details.get("entities", 0), "entity", "entities")
    facts = counted(event.details.get("facts", 0), "fact")
    return f"{entities} and {facts} from {_file(event)}"


def _file(event: HistoryEvent) -> str:
    return f"'{event.details.get('file', 'a file')}'"


_ACTIVE: Final[Mapping[str, ActiveSentence]] = {
    EventKind.ENTITY_CREATED: _plain("created"),
    EventKind.ENTITY_EDITED: _edited,
    EventKind.ENTITY_DELETED: _plain("deleted"),
    EventKind.ENTITIES_MERGED: _merged,
    EventKind.ENTITY_SPLIT: _split,
    EventKind.MENTIONS_MOVED: _moved_mentions,
    EventKind.NOT_THE_SAME: lambda event: f"marked {_all(event)} as not the same",
    EventKind.RELATIONSHIP_CREATED: _linked,
    EventKind.RELATIONSHIP_EDITED: lambda event: f"edited the {_link(event)}",
    EventKind.RELATIONSHIP_DELETED: lambda event: f"deleted the {_link(event)}",
    EventKind.GRAPH_IMPORTED: lambda event: f"imported {_what_was_imported(event)}",
    EventKind.DOCUMENT_ADDED: _plain("added"),
    EventKind.DOCUMENT_EDITED: _plain("edited"),
    EventKind.DOCUMENT_REPLACED: _replaced,
    EventKind.DOCUMENT_DISABLED: _plain("disabled"),
    EventKind.DOCUMENT_ENABLED: _plain("enabled"),
    EventKind.DOCUMENT_TRASHED: _plain("moved", " to the trash"),
    EventKind.DOCUMENT_RESTORED: _plain("restored", " from the trash"),
    EventKind.DOCUMENT_DELETED: _plain("deleted", " for good"),
    EventKind.DOCUMENT_MOVED: _moved,
    EventKind.COPIED: lambda _: "decided about names",
    EventKind.COLLECTION_CREATED: _plain("created the collection"),
    EventKind.COLLECTION_RENAMED: _renamed,
    EventKind.COLLECTION_DELETED: _plain("deleted the collection"),
    EventKind.CLAIM_EDITED: _claim("edited"),
    EventKind.CLAIM_DELETED: _claim("deleted"),
    EventKind.CONFLICT_DECIDED: _conflict,
    EventKind.DECISION_UNDONE: _decision,
    EventKind.UNDO: lambda event: f"undid: {event.details.get('undid', 'something')}",
}
_PASSIVE: Final[Mapping[str, PassiveSentence]] = {
    EventKind.ENTITY_CREATED: _was("created"),
    EventKind.ENTITY_EDITED: _was("edited"),
    EventKind.ENTITY_DELETED: _was("deleted"),
    EventKind.ENTITIES_MERGED: _merged_into,
    EventKind.ENTITY_SPLIT: _split_off,
    EventKind.MENTIONS_MOVED: _were_moved,
    EventKind.NOT_THE_SAME: lambda event, of: f"{_all(event)} were marked as not the same",
    EventKind.RELATIONSHIP_CREATED: _link_was("added"),
    EventKind.RELATIONSHIP_EDITED: _link_was("edited"),
    EventKind.RELATIONSHIP_DELETED: _link_was("deleted"),
    EventKind.GRAPH_IMPORTED: _was_imported,
    EventKind.CLAIM_EDITED: _claim_was("edited"),
    EventKind.CLAIM_DELETED: _claim_was("deleted"),
    EventKind.CONFLICT_DECIDED: _conflict_was,
    EventKind.DOCUMENT_EDITED: _was("edited"),
    EventKind.DOCUMENT_REPLACED: _was("replaced by a new version"),
    EventKind.DOCUMENT_DISABLED: _was("disabled"),
    EventKind.DOCUMENT_ENABLED: _was("enabled"),
    EventKind.DOCUMENT_TRASHED: _was("moved to the trash"),
    EventKind.DOCUMENT_RESTORED: _was("restored from the trash"),
    EventKind.DOCUMENT_DELETED: _was("deleted for good"),
    EventKind.DOCUMENT_MOVED: _was_moved,
    EventKind.COPIED: lambda event, of: "Its name was decided",
    EventKind.COLLECTION_CREATED: lambda event, of: f"The collection {_all(event)} was created",
    EventKind.COLLECTION_RENAMED: _was_renamed,
    EventKind.COLLECTION_DELETED: lambda event, of: f"The collection {_all(event)} was deleted",
    EventKind.DECISION_UNDONE: lambda event, of: "A decision about its name was undone",
}


# --- toasts ---------------------------------------------------------------------------------------
UNDO_TAG: Final = "undo:"
"""Prefix of the tag of a message that can be undone; the address follows."""


@dataclass(frozen=True, slots=True)
class Toast:
    """Shown by ``templates/components/toast.html``.

    ``undo_url`` undoes the change by POST and then returns to the page.
    """

    text: str
    undo_url: str = ""


def toast_of(workspace: Workspace, event: HistoryEvent) -> Toast:
    address = reverse("ingestion:event_undo", args=[workspace.slug, event.pk])
    return Toast(toast_text(event), address)


def toast_text(event: HistoryEvent) -> str:
    """What was done, without saying by whom."""
    text = change(event)
    return f"{text[0].upper()}{text[1:]}."


def add_toast(
    request: HttpRequest, workspace: Workspace, event: HistoryEvent, text: str = ""
) -> None:
    """Show the toast on the next page; ``text`` replaces the event's own sentence."""
    toast = toast_of(workspace, event)
    messages.success(request, text or toast.text, extra_tags=f"{UNDO_TAG}{toast.undo_url}")
