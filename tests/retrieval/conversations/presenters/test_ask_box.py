"""The menu of ways to search."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from kb_project.llm.fake import FakeChat
from kb_project.llm.ports import ModelOptions
from retrieval.conversations.forms import FILTERS
from retrieval.conversations.presenters import ask_box as presenter
from retrieval.conversations.presenters.ask_box import (
    GONE,
    SOUGHT,
    found_choices,
    label_of,
    mode_groups,
    scope_panel,
)
from retrieval.search.modes import ANSWER_MODES, MODES
from retrieval.search.scope import Scope
from tests import rows
from workspaces import access
from workspaces.ports import ports_for


def test_every_mode_stands_in_the_menu_once():
    shown = [mode.name for group in mode_groups() for mode in group.modes]

    assert sorted(shown) == sorted(MODES)


def test_no_group_is_empty_and_the_one_that_chooses_stands_above_all():
    groups = mode_groups()

    assert all(group.modes for group in groups)
    if "auto" in MODES:
        assert [mode.name for mode in groups[0].modes] == ["auto"]
        assert groups[0].label == ""


def test_every_mode_says_in_a_sentence_what_it_does():
    for mode in MODES.values():
        assert mode.label
        assert mode.explanation.endswith(".")


def test_an_answer_by_a_mode_that_is_gone_keeps_its_name():
    assert label_of("walk") == MODES["walk"].label
    assert label_of("old_way") == "Old way"


pytestmark = pytest.mark.django_db


@pytest.fixture
def cast():
    return rows.make_cast()


@pytest.mark.parametrize("allowed", [True, False])
def test_general_knowledge_is_offered_where_it_is_allowed_and_never_for_a_search(
    cast, monkeypatch, allowed
):
    ports = replace(
        ports_for(cast.workspace.pk),
        chat=FakeChat(lambda _: ""),
        options=ModelOptions(allows_general=allowed),
    )
    monkeypatch.setattr(presenter, "ports_for", lambda _: ports)

    asked, searched = (
        {mode.name for group in groups for mode in group.modes}
        for groups in (mode_groups(cast.workspace), mode_groups())
    )

    assert asked == (set(ANSWER_MODES) if allowed else set(MODES))
    assert searched == set(MODES)


def panel_of(cast, **filters):
    with access.in_workspace(cast.workspace.pk):
        return scope_panel(workspace=cast.workspace, filters=filters)


def section_of(panel, name):
    return next((one for one in panel.sections if one.name == name), None)


def found(cast, name, text):
    with access.in_workspace(cast.workspace.pk):
        return [one.label for one in found_choices(workspace=cast.workspace, name=name, text=text)]


def test_without_a_choice_all_documents_are_searched(cast):
    panel = panel_of(cast)

    assert panel.label == "All documents"
    assert panel.chips == ()


def test_what_is_chosen_stands_as_chips_with_a_word_before_each(cast):
    logs = rows.make_collection(cast.workspace, "Logs")
    rows.make_document(cast.workspace, "A", "x", tags=["tide"])

    panel = panel_of(
        cast, collections=[str(logs.pk)], tags=["tide"], dated_from="2024-05-01", dated_to=""
    )

    assert [(chip.prefix, chip.label) for chip in panel.chips] == [
        ("in", "Logs"),
        ("tagged", "tide"),
        ("from", "1 May 2024"),
    ]
    assert panel.label == "3 filters"


def test_tags_are_offered_the_most_used_first(cast):
    for title, tags in (("A", ["oil"]), ("B", ["tide", "oil"]), ("C", ["oil", "zebra"])):
        rows.make_document(cast.workspace, title, "x", tags=tags)

    tags = section_of(panel_of(cast), "tags")

    assert tags is not None
    assert [choice.value for choice in tags.choices] == ["oil", "tide", "zebra"]


def test_a_chosen_tag_that_no_document_has_can_still_be_taken_away(cast):
    (chip,) = panel_of(cast, tags=["lost"]).chips

    assert (chip.name, chip.value, chip.is_chosen) == ("tags", "lost", True)


def test_a_chosen_document_is_shown_by_its_title_and_a_gone_one_as_gone(cast):
    paper = rows.make_document(cast.workspace, "The log", "x")

    chips = panel_of(cast, documents=[str(paper.pk), str(uuid4())]).chips

    assert [chip.label for chip in chips] == ["The log", GONE]


def test_a_document_of_another_workspace_is_not_named(cast):
    other = rows.make_cast("Elsewhere")
    secret = rows.make_document(other.workspace, "A secret", "x")

    (chip,) = panel_of(cast, documents=[str(secret.pk)]).chips

    assert chip.label == GONE


def test_a_format_that_an_address_asked_for_is_named_and_can_be_taken_away(cast):
    (chip,) = panel_of(cast, media_types=["text/plain"]).chips

    assert (chip.name, chip.value, chip.label) == ("media_types", "text/plain", "Text file")


def test_an_unknown_format_is_shown_by_its_mime_type(cast):
    (chip,) = panel_of(cast, media_types=["text/x-toy"]).chips

    assert chip.label == "text/x-toy"


def test_a_date_that_is_none_is_shown_as_it_was_sent(cast):
    (chip,) = panel_of(cast, dated_to="tomorrow").chips

    assert chip.label == "tomorrow"


def test_documents_and_names_are_found_by_a_part(cast):
    rows.make_document(cast.workspace, "The log of 1869", "Ada Lind.", names={"Ada Lind": "PERSON"})
    rows.make_document(cast.workspace, "A letter", "x")

    assert found(cast, "documents", "log") == ["The log of 1869"]
    assert found(cast, "documents", "") == []
    for name in {"include", "exclude"} & set(FILTERS):
        assert found(cast, name, "lind") == ["Ada Lind"]


def test_what_is_no_filter_finds_nothing(cast):
    rows.make_document(cast.workspace, "The log", "x")

    assert found(cast, "passwords", "log") == []
    assert found(cast, "collections", "log") == []


def test_the_panel_offers_only_filters_that_a_scope_has(cast):
    names = {section.name for section in panel_of(cast).sections}

    assert names <= set(FILTERS)
    assert set(SOUGHT) & set(FILTERS) <= names


def test_the_panel_shows_what_a_question_was_asked_with(cast):
    logs = rows.make_collection(cast.workspace, "Logs")

    panel = panel_of(cast, **Scope(collections=(logs.pk,), tags=("tide",)).as_json())

    assert [chip.label for chip in panel.chips] == ["Logs", "tide"]
