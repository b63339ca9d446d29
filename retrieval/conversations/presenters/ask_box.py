"""Present the question box: how to search, where, and which conversation it continues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.utils.formats import date_format

from ingestion.documents import queries as document_queries
from ingestion.documents.presenters import format_label
from ingestion.knowledge import queries as knowledge_queries
from ingestion.models import Document, DocumentState, Entity
from retrieval.answering import bypass
from retrieval.answering.options import LABELS, ResponseType
from retrieval.conversations import queries
from retrieval.conversations.forms import DATES, is_id
from retrieval.models import Conversation, Question
from retrieval.search import scope
from retrieval.search.modes import ANSWER_MODES, BYPASS, DEFAULT_MODE, GROUPS, MODES, Mode
from retrieval.search.query import Selection
from workspaces.language_models.choice import LONGEST_INSTRUCTIONS
from workspaces.models import User, Workspace
from workspaces.ports import ports_for

MOST_TAGS: Final = 40
MOST_FOUND: Final = 8
# What a chip says before the chosen value.
PREFIXES: Final = {
    "collections": "in",
    "documents": "document",
    "tags": "tagged",
    "media_types": "of type",
    "dated_from": "from",
    "dated_to": "until",
    "include": "about",
    "exclude": "leaving out",
    "as_of": "as of",
}
# Filters whose values are searched for by typing: the label above the field, and its hint.
SOUGHT: Final = {
    "documents": ("Only these documents", "Part of a title"),
    "include": ("Start with these names", "A person, place or thing"),
    "exclude": ("Leave out these names", "A person, place or thing"),
}
GONE: Final = "no longer exists"


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a filter: ``name`` is the filter, ``value`` what is submitted."""

    name: str
    value: str
    label: str
    is_chosen: bool = False

    @property
    def prefix(self) -> str:
        return PREFIXES.get(self.name, self.name.replace("_", " "))


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the panel; ``hint`` is set if values are searched for by typing."""

    name: str
    label: str
    choices: tuple[Choice, ...]
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ScopePanel:
    sections: tuple[Section, ...]
    dated_from: str
    dated_to: str
    as_of: str
    chips: tuple[Choice, ...]

    @property
    def label(self) -> str:
        if not self.chips:
            return "All documents"
        return self.chips[0].label if len(self.chips) == 1 else f"{len(self.chips)} filters"


def scope_panel(*, workspace: Workspace, filters: Mapping[str, Any]) -> ScopePanel:
    """Build the panel; ``filters`` are as written by ``Scope.as_json``."""
    collections = filters.get("collections", ())
    sections = [
        Section(
            "collections",
            "Collections",
            tuple(
                Choice("collections", str(row.pk), row.name, is_chosen=str(row.pk) in collections)
                for row in queries.collections_of(workspace=workspace)
            ),
        ),
        Section("tags", "Tags", _tags(workspace, filters.get("tags", ()))),
        # Formats given in the address, so that they can be removed.
        Section(
            "media_types",
            "Formats",
            tuple(
                Choice("media_types", value, format_label(value), is_chosen=True)
                for value in filters.get("media_types", ())
            ),
        ),
        *(
            Section(name, label, _chosen(workspace, name, filters.get(name, ())), hint)
            for name, (label, hint) in SOUGHT.items()
        ),
    ]
    dates = [_date(name, filters[name]) for name in sorted(DATES) if filters.get(name)]
    chosen = [one for part in sections for one in part.choices if one.is_chosen]
    return ScopePanel(
        sections=tuple(part for part in sections if part.choices or part.hint),
        dated_from=str(filters.get("dated_from", "")),
        dated_to=str(filters.get("dated_to", "")),
        as_of=str(filters.get("as_of", "")),
        chips=tuple(chosen + dates),
    )


def _tags(workspace: Workspace, chosen: Sequence[str]) -> tuple[Choice, ...]:
    """Return the most used tags, and the chosen ones."""
    used = scope.tags_used(workspace=workspace)[:MOST_TAGS]
    names = dict.fromkeys([*(one.value for one in used), *chosen])
    return tuple(Choice("tags", tag, tag, is_chosen=tag in chosen) for tag in names)


def _chosen(workspace: Workspace, name: str, values: Sequence[str]) -> tuple[Choice, ...]:
    """Return the chosen documents or names; deleted ones stay, so that they can be removed."""
    ids = [UUID(value) for value in values if is_id(value)]
    if not ids:
        return ()
    if name == "documents":
        titles = Document.objects.in_workspace(workspace).filter(pk__in=ids)
        names = {row.pk: row.title for row in titles.only("title")}
    else:
        found = Entity.objects.in_workspace(workspace).filter(pk__in=ids)
        names = {row.pk: row.name for row in found.only("name")}
    return tuple(Choice(name, str(pk), names.get(pk, GONE), is_chosen=True) for pk in ids)


def found_choices(*, workspace: Workspace, name: str, text: str) -> list[Choice]:
    """Return documents or names that match the typed text; none for other filters."""
    if name not in SOUGHT or not text:
        return []
    if name == "documents":
        titled = document_queries.documents(workspace=workspace, text=text)[:MOST_FOUND]
        return [Choice(name, str(row.pk), row.title) for row in titled]
    named = knowledge_queries.entities(workspace=workspace, text=text)[:MOST_FOUND]
    return [Choice(name, str(row.pk), row.name) for row in named]


def _date(name: str, value: str) -> Choice:
    """Return the chip for a date; an invalid one is shown as submitted."""
    try:
        label = date_format(date.fromisoformat(value), "j M Y")
    except ValueError:
        label = value
    return Choice(name, value, label, is_chosen=True)


@dataclass(frozen=True, slots=True)
class ModeGroup:
    """A group of the menu; ``label`` is '' for modes above all groups."""

    label: str
    modes: tuple[Mode, ...]


def mode_groups(asked_in: Workspace | None = None) -> tuple[ModeGroup, ...]:
    """Group the search modes in the order of the menu, leaving out empty groups.

    Where a question is asked, answering without a search is offered too, if it is allowed.
    """
    modes = list(MODES.values())
    if asked_in is not None and bypass.is_offered(ports_for(asked_in.pk)):
        modes.append(BYPASS)
    groups: dict[str, list[Mode]] = {label: [] for label in GROUPS}
    for mode in modes:
        groups.setdefault(mode.group, []).append(mode)
    return tuple(ModeGroup(label, tuple(modes)) for label, modes in groups.items() if modes)


def label_of(name: str) -> str:
    """Return a mode's label; a mode that no longer exists keeps its name.

    >>> label_of("telepathy")
    'Telepathy'
    """
    return ANSWER_MODES[name].label if name in ANSWER_MODES else name.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class FormChoice:
    """A value of an option of answers; ``is_offered`` if it can be chosen."""

    value: str
    label: str
    explanation: str = ""
    is_chosen: bool = False
    is_offered: bool = True


@dataclass(frozen=True, slots=True)
class FormPanel:
    """How the answer is wanted. Without a model, most forms and instructions are not offered.

    ``workspace_instructions`` apply to every answer here, before the person's own.
    """

    responses: tuple[FormChoice, ...]
    workspace_instructions: str
    instructions: str
    longest: int
    levels: tuple[FormChoice, ...]
    selections: tuple[FormChoice, ...]
    has_model: bool

    @property
    def label(self) -> str:
        return next(one.label for one in self.responses if one.is_chosen)


SELECTIONS: Final = {
    Selection.AUTO: "Rate topics first if there are many",
    Selection.DYNAMIC: "Always rate topics first",
    Selection.FIXED: "Read all topics of the level",
}


def form_panel(*, workspace: Workspace, options: Mapping[str, Any]) -> FormPanel:
    """Build the panel; ``options`` as submitted, or as stored with an answer."""
    ports = ports_for(workspace.pk)
    has_model = ports.writer is not None
    response = str(options.get("response") or ResponseType.DEFAULT)
    if response not in set(ResponseType):
        response = ResponseType.DEFAULT
    level = str(options.get("level", "") or "") if options.get("level") != 0 else "0"
    selection = options.get("selection") or Selection.AUTO
    free = (ResponseType.DEFAULT, ResponseType.SHORT)
    return FormPanel(
        responses=tuple(
            FormChoice(one.value, *LABELS[one], one == response, has_model or one in free)
            for one in ResponseType
        ),
        workspace_instructions=ports.options.instructions if has_model else "",
        instructions=str(options.get("instructions") or ""),
        longest=LONGEST_INSTRUCTIONS,
        levels=tuple(_levels(workspace, level)),
        selections=tuple(
            FormChoice(one.value, label, is_chosen=one == selection)
            for one, label in SELECTIONS.items()
        ),
        has_model=has_model,
    )


def forms_for(workspace: Workspace) -> list[tuple[str, str, str]]:
    """Return the response types that an answer can be had in, with label and explanation."""
    if ports_for(workspace.pk).writer is None:
        return []
    return [(one.value, *LABELS[one]) for one in ResponseType]


def _levels(workspace: Workspace, chosen: str) -> Iterator[FormChoice]:
    """Yield the levels to choose from; none if the topics are not nested."""
    levels = queries.topic_levels(workspace=workspace)
    if len(levels) < 2 and not chosen:
        return
    yield FormChoice("", "As deep as fits", is_chosen=not chosen)
    for level, count in levels:
        name = "Main topics" if level == 0 else f"Down to level {level}"
        yield FormChoice(str(level), f"{name} ({count:,})", is_chosen=str(level) == chosen)


def wishes_in(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Say how an answer was wanted, where that was chosen.

    >>> wishes_in({"response": "list", "instructions": "In French.", "level": 0})
    ('List', 'Instructions: “In French.”', 'Main topics only')
    """
    response, level = options.get("response"), options.get("level")
    wishes = [LABELS[ResponseType(response)][0]] if response in set(ResponseType) else []
    if instructions := options.get("instructions"):
        wishes.append(f"Instructions: “{instructions}”")
    if level is not None:
        wishes.append("Main topics only" if level == 0 else f"Topics down to level {level}")
    if options.get("selection") in set(Selection):
        wishes.append(SELECTIONS[Selection(options["selection"])])
    return tuple(wishes)


@dataclass(frozen=True, slots=True)
class AskBox:
    """The question box; ``reading`` documents are not processed yet; ``conversation`` is
    continued."""

    groups: tuple[ModeGroup, ...]
    mode: Mode
    scope: ScopePanel
    form: FormPanel
    documents: int
    reading: int = 0
    question: str = ""
    conversation: UUID | None = None


def ask_box(  # noqa: PLR0913  all that the box shows
    *,
    workspace: Workspace,
    question: str = "",
    mode: str = "",
    filters: Mapping[str, Any] | None = None,
    conversation: UUID | None = None,
    options: Mapping[str, Any] | None = None,
    is_search: bool = False,
) -> AskBox:
    counts = document_queries.state_counts(workspace=workspace)
    return AskBox(
        groups=mode_groups(None if is_search else workspace),
        mode=ANSWER_MODES.get(mode) or MODES[DEFAULT_MODE],
        scope=scope_panel(workspace=workspace, filters=filters or {}),
        form=form_panel(workspace=workspace, options=options or {}),
        documents=knowledge_queries.documents_count(workspace),
        reading=counts[DocumentState.QUEUED.value] + counts[DocumentState.WORKING.value],
        question=question,
        conversation=conversation,
    )


def ask_next(*, workspace: Workspace, user: User, question: Question) -> AskBox:
    """Return the box under an answer: empty, with the earlier choices.

    It continues the conversation if that is the person's own.
    """
    return ask_box(
        workspace=workspace,
        mode=question.mode,
        filters=question.scope,
        options=queries.newest_options(question=question),
        conversation=own(workspace, user, question.conversation_id),
    )


def own(workspace: Workspace, user: User, conversation_id: UUID | None) -> UUID | None:
    """Return the conversation's id if it is the person's own, else None: others may not continue
    it."""
    if conversation_id is None:
        return None
    rows = Conversation.objects.in_workspace(workspace).filter(asked_by=user)
    return conversation_id if rows.filter(pk=conversation_id).exists() else None
