"""Check what curators give: words, names that are taken, and entities that may be gone.

Words raise InputError, taken names and former entities ConflictError.
"""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Collection, Iterable
from typing import Any, Final

from django.db.models import F

from ingestion.history.recording import Subjects
from ingestion.history.sentences import passive
from ingestion.models import (
    Claim,
    Entity,
    EventKind,
    HistoryEvent,
    Relationship,
    SubjectKind,
)
from ingestion.resolution.decisions import last_sense
from ingestion.resolution.keys import NAME_LENGTH, Ref, entity_id, key_of_name
from ingestion.resolution.overrides import NameResolution
from kb_project.errors import ConflictError, InputError, NotFoundError
from workspaces.models import Workspace

TYPE_LENGTH: Final = 40
CLAIM_TYPE_LENGTH: Final = 80
DESCRIPTION_LENGTH: Final = 10_000
KEYWORD_LENGTH: Final = 80
MOST_KEYWORDS: Final = 50
MOST_ALIASES: Final = 50
UNCHANGED: Final = "Nothing was changed."

# Characters that change text direction: they could make a name look like another one.
TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
UNSEEN: Final = ("Cc", "Cs", "Co", "Cn")


def name_given(text: str, what: str = "name") -> tuple[str, str]:
    """Return a name on one line, and its key."""
    name = " ".join(text.split())
    _no_unseen(name, what)
    if not name:
        raise invalid(
            f"The {what} is empty.", f"Enter a {what} with at least one letter or digit.", "empty"
        )
    _no_longer(name, what, NAME_LENGTH)
    key = key_of_name(name)
    if not key:
        raise invalid(
            f"The {what} '{name}' has neither a letter nor a digit.",
            f"Enter a {what} as documents would spell it.",
            "no_letters",
        )
    return name, key


def type_given(text: str) -> str:
    kind = " ".join(text.split()).lower()
    _no_unseen(kind, "type")
    if not kind:
        raise invalid("The type is empty.", "Enter a type such as 'person'.", "empty")
    _no_longer(kind, "type", TYPE_LENGTH)
    return kind


def claim_type_given(text: str) -> str:
    """Return the type of a claim, which may be blank."""
    kind = " ".join(text.split())
    _no_unseen(kind, "type")
    _no_longer(kind, "type", CLAIM_TYPE_LENGTH)
    return kind


def description_given(text: str) -> str:
    """Validate a description, keeping lines and tabs; '' if it is blank."""
    description = text.replace("\r\n", "\n").strip()
    _no_unseen(description.translate({10: None, 9: None}), "description")
    _no_longer(description, "description", DESCRIPTION_LENGTH)
    return description


def keywords_given(words: Iterable[str]) -> list[str]:
    found = [" ".join(word.split()) for word in words]
    kept = list(dict.fromkeys(word for word in found if word))
    for word in kept:
        _no_unseen(word, "keyword")
        _no_longer(word, "keyword", KEYWORD_LENGTH)
    if len(kept) > MOST_KEYWORDS:
        raise invalid(
            f"{len(kept)} keywords are too many.", f"Enter at most {MOST_KEYWORDS}.", "too_many"
        )
    return kept


def aliases_given(names: Iterable[str]) -> dict[str, str]:
    """Return the names by key."""
    given = [name_given(name, "alias") for name in names]
    if len(given) > MOST_ALIASES:
        raise invalid(
            f"{len(given)} aliases are too many.",
            f"Enter at most {MOST_ALIASES} at once.",
            "too_many",
        )
    return {key: name for name, key in given}


def _no_longer(text: str, what: str, most: int) -> None:
    if len(text) > most:
        raise invalid(
            f"The {what} has {len(text):,} characters.",
            f"Shorten it to at most {most:,}.",
            "too_long",
        )


def _no_unseen(text: str, what: str) -> None:
    if any(one in TURNING or unicodedata.category(one) in UNSEEN for one in text):
        raise invalid(
            f"The {what} contains invisible characters.",
            "Type it instead of copying it.",
            "unseen_characters",
        )


def without_unseen(text: str) -> str:
    """Remove what ``description_given`` would refuse, from text that no person typed.

    >>> without_unseen("a\\u202eb\\x01\\n")
    'ab'
    """
    kept = (
        one
        for one in text.replace("\r\n", "\n")
        if one in "\n\t" or (one not in TURNING and unicodedata.category(one) not in UNSEEN)
    )
    return "".join(kept).strip()


def invalid(happened: str, next_step: str, code: str) -> InputError:
    return InputError(happened, code=code, kept=UNCHANGED, next_step=next_step)


# --- entities and relationships -------------------------------------------------------------------
EntityGiven = Entity | uuid.UUID
RelationshipGiven = Relationship | uuid.UUID
ClaimGiven = Claim | uuid.UUID


def id_of(given: Entity | Relationship | Claim | HistoryEvent | uuid.UUID) -> uuid.UUID:
    return given if isinstance(given, uuid.UUID) else given.pk


def ref_of(entity: Entity) -> Ref:
    return entity.key, entity.sense


def living(workspace: Workspace, given: EntityGiven) -> Entity:
    """Return the entity's current row. Raises ConflictError if it was merged away or deleted."""
    [entity] = all_living(workspace, [given])
    return entity


def all_living(workspace: Workspace, given: Iterable[EntityGiven]) -> list[Entity]:
    """Return several entities' current rows, in order. Raises ConflictError likewise."""
    ids = [id_of(one) for one in given]
    found = Entity.objects.in_workspace(workspace).filter(is_leaving=False).in_bulk(ids)
    for one in ids:
        if one not in found:
            raise _gone(workspace, one, EventKind.ENTITIES_MERGED, EventKind.ENTITY_DELETED)
    return [found[one] for one in ids]


def living_link(workspace: Workspace, given: RelationshipGiven) -> Relationship:
    """Return the relationship with its ends. Raises ConflictError if it was deleted."""
    rows = Relationship.objects.in_workspace(workspace).select_related("source", "target")
    found = rows.filter(pk=id_of(given)).first()
    if found is None:
        raise _gone(workspace, id_of(given), EventKind.RELATIONSHIP_DELETED)
    return found


def living_claim(workspace: Workspace, given: ClaimGiven) -> Claim:
    """Return the claim with its subject and passage. Raises ConflictError if it was deleted."""
    rows = Claim.objects.in_workspace(workspace).select_related("subject", "chunk__document")
    found = rows.filter(pk=id_of(given)).first()
    if found is None:
        raise _gone(workspace, id_of(given), EventKind.CLAIM_DELETED)
    return found


def _gone(workspace: Workspace, subject_id: uuid.UUID, *kinds: EventKind) -> Exception:
    events = HistoryEvent.objects.in_workspace(workspace).filter(
        subjects__subject_id=subject_id,
        subjects__workspace=workspace,
        kind__in=kinds,
        undone_at=None,
    )
    event = events.select_related("user").order_by("-sequence").first()
    if event is None or str(subject_id) in (event.details.get("kept"), event.details.get("into")):
        return NotFoundError("Not found in this workspace.")
    names, kept = event.details["names"], event.details.get("kept")
    is_merged = event.kind == EventKind.ENTITIES_MERGED
    return ConflictError(
        passive(event, of=str(subject_id)) + ".",
        code="merged_away" if is_merged else "deleted_before",
        kept=UNCHANGED,
        next_step=f"Use '{names.get(kept, 'it')}' instead, or undo that first."
        if is_merged
        else "Undo that first.",
        fields={"event": str(event.pk), "into": kept},
    )


def own_words(row: Entity | Relationship) -> str:
    """Return the description if a person wrote it.

    History outlives documents, so it keeps none of their text.
    """
    return row.description if row.written_by == "person" else ""


def identities(entities: Iterable[Entity]) -> dict[str, Any]:
    """Return names and refs by id, by which history identifies entities even if they are gone."""
    rows = list(entities)
    return {
        "names": {str(one.pk): one.name for one in rows},
        "refs": {str(one.pk): list(ref_of(one)) for one in rows},
    }


def as_subjects(*entities: Entity | uuid.UUID) -> Subjects:
    return {id_of(entity): SubjectKind.ENTITY for entity in entities}


def free_ref(workspace: Workspace, key: str) -> Ref:
    """Return an unused entity of that name: a sense is never assigned twice."""
    last = last_sense(workspace.pk, key)
    return key, 0 if last is None else last + 1


# --- names that are taken -------------------------------------------------------------------------
def refuse_taken(
    workspace: Workspace,
    name: str,
    key: str,
    *,
    resolution: NameResolution,
    own: Collection[uuid.UUID] = (),
) -> None:
    """Raise ConflictError if an entity other than ``own`` has the name."""
    rows = Entity.objects.in_workspace(workspace).filter(is_leaving=False)
    # One condition for all would join every alias. Only the second looks at every name.
    ways = (
        rows.filter(key=key),
        rows.filter(name__iexact=name),
        rows.filter(aliases__workspace=workspace, aliases__key=key, aliases__name=F("name")),
    )
    ids = {pk for way in ways for pk in way.values_list("pk", flat=True)}
    ids.add(entity_id(workspace.pk, *resolution.resolve((key, 0))))
    other = rows.filter(pk__among=ids - set(own)).order_by("-mention_count", "pk").first()
    if other is None:
        return
    as_it = f" as '{other.name}'" if other.name != name else ""
    raise ConflictError(
        f"An entity named '{name}'{as_it} already exists.",
        code="name_taken",
        kept=UNCHANGED,
        next_step="Merge the two if they are the same, or choose a different name.",
        fields={"entity": {"id": str(other.pk), "name": other.name, "type": other.type}},
    )
