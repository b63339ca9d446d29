from __future__ import annotations

import re

import pytest

from kb_project.errors import BudgetError, ReplyError
from kb_project.llm.config import ChatConfig
from kb_project.llm.fake import FakeChat
from kb_project.llm.ports import Role
from retrieval.answering import sections, writing
from retrieval.answering.options import AnswerOptions, ResponseType
from retrieval.models import Outcome
from retrieval.search.reporting import EventKind, StoppedError
from tests import rows
from tests.retrieval.answering.scripted import Told, asked, make_cast, use

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

QUESTION = "Who keeps the Skarrow light, and what does its lamp burn?"
REPORT = AnswerOptions(ResponseType.REPORT)
KEEPER = "Ada Lind keeps the Skarrow light"
LAMP = "The lamp burns oil, which the boat brings on Fridays"


@pytest.fixture
def cast(fake_embedder):
    return make_cast()


def label(request, words):
    """The label of the passage with these words."""
    before = request.prompt.user.partition(words)[0]
    return re.findall(r"^\[(\d+)\]$", before, re.MULTILINE)[-1]


def plan(title, covers="", labels=()):
    return {"title": title, "covers": covers, "labels": list(labels)}


OUTLINE = {"sections": [plan("The keeper", "Who keeps it."), plan("The lamp", "What it burns.")]}


def section_of(request):
    return re.findall(r"<section>\n(.*?): ", request.prompt.user)[0]


def said(request):
    if section_of(request) == "The keeper":
        return f"{KEEPER} [{label(request, KEEPER)}]."
    return f"{LAMP} [{label(request, LAMP)}][77]."


def model(monkeypatch, outline=OUTLINE, section=said, *, window=16_000, judge=None):
    def says(request):
        if request.prompt.name == "report_outline":
            return outline(request) if callable(outline) else outline
        if request.role is Role.JUDGE:
            return judge(request) if judge else {"verdicts": []}
        return section(request) if request.prompt.name == "answer" else ReplyError("No.")

    config = ChatConfig("http://fake.invalid/v1", "fake", concurrency=1, context_window=window)
    chat = FakeChat(says, config=config)
    use(monkeypatch, chat)
    return chat


def named(chat, name):
    return [one for one in chat.requests if one.prompt.name == name]


def lines(draft):
    return [one.text.strip() for one in draft.sentences]


def codes(draft):
    return [one["code"] for one in draft.trace["notes"]]


def test_an_outline_is_planned_and_each_section_written_below_its_heading(cast, monkeypatch):
    chat = model(monkeypatch)
    told = Told()

    draft = asked(cast, QUESTION, options=REPORT, told=told)

    assert [one.prompt.name for one in chat.requests[:3]] == ["report_outline", "answer", "answer"]
    assert lines(draft) == ["## The keeper", f"{KEEPER}.", "## The lamp", f"{LAMP}."]
    assert [one.text.startswith("\n\n") for one in draft.sentences] == [False, True, True, True]
    assert draft.trace["report"] == {"planned": 2, "written": 2, "lost": 0}
    assert told.text.replace("\n\n", " ").startswith(f"## The keeper {KEEPER} [")


def test_every_sentence_is_cited_and_checked_as_usual_and_headings_are_not(cast, monkeypatch):
    model(monkeypatch)

    draft = asked(cast, QUESTION, options=REPORT)

    heading, keeper, _, lamp = draft.sentences
    assert heading.check is None
    assert (keeper.check.verdict, lamp.check.verdict) == ("supported", "supported")
    quotes = {one.number: one.quote for one in draft.citations}
    assert KEEPER in quotes[keeper.numbers[0]]
    assert LAMP in quotes[lamp.numbers[0]]
    assert draft.trace["citations"]["invented"] == 1


def set_room(monkeypatch, tokens=60):
    """Room for one of the passages."""
    monkeypatch.setattr(sections, "SECTION_TOKENS", tokens)
    monkeypatch.setattr(writing, "LEAST_TOKENS", tokens)


def test_a_sections_context_begins_with_what_the_outline_names_for_it(cast, monkeypatch):
    set_room(monkeypatch)
    labels = {}

    def outline(request):
        labels["lamp"] = label(request, "Skarrow log")
        return {"sections": [plan("The keeper", labels=[f"[{labels['lamp']}]"])]}

    chat = model(monkeypatch, outline, lambda _: "It is told.")

    asked(cast, QUESTION, options=REPORT)

    [written] = named(chat, "answer")
    assert "Skarrow log" in written.prompt.user
    assert KEEPER not in written.prompt.user


def test_a_label_that_a_section_was_not_given_is_no_citation(cast, monkeypatch):
    set_room(monkeypatch)
    others = {}

    def outline(request):
        others["keeper"] = label(request, KEEPER)
        return {"sections": [plan("The log", labels=[label(request, "Skarrow log")])]}

    model(monkeypatch, outline, lambda _: f"The moon is green [{others['keeper']}].")

    draft = asked(cast, QUESTION, options=REPORT)

    assert draft.trace["citations"]["invented"] == 1
    assert not draft.is_supported


def test_a_section_that_fails_is_named_and_the_others_stay(cast, monkeypatch):
    def section(request):
        if section_of(request) == "The keeper":
            return ReplyError("The answer was cut off.", code="reply_cut_off")
        return said(request)

    model(monkeypatch, section=section)

    draft = asked(cast, QUESTION, options=REPORT)

    assert lines(draft) == ["## The lamp", f"{LAMP}."]
    [note] = [one for one in draft.trace["notes"] if one["code"] == "sections_lost"]
    assert note["sentence"] == "One section is missing: “The keeper”. The answer was cut off."
    assert draft.is_supported


def test_a_budget_that_ends_midway_leaves_what_is_written(cast, monkeypatch):
    def section(request):
        if section_of(request) == "The lamp":
            return BudgetError("The budget is spent.")
        return said(request)

    model(monkeypatch, section=section)

    draft = asked(cast, QUESTION, options=REPORT)

    assert lines(draft)[:2] == ["## The keeper", f"{KEEPER}."]
    assert codes(draft) == ["sections_lost"]


@pytest.mark.parametrize("error", [ReplyError("Cut off.", code="x"), BudgetError("Spent.")])
def test_without_any_section_the_answer_fails(cast, monkeypatch, error):
    model(monkeypatch, section=lambda _: error)

    with pytest.raises(type(error)):
        asked(cast, QUESTION, options=REPORT)


def test_a_section_on_which_the_documents_say_nothing_is_left_out(cast, monkeypatch):
    def section(request):
        return "NO_ANSWER" if section_of(request) == "The keeper" else said(request)

    model(monkeypatch, section=section)

    draft = asked(cast, QUESTION, options=REPORT)

    assert lines(draft) == ["## The lamp", f"{LAMP}."]
    assert draft.trace["report"] == {"planned": 2, "written": 1, "lost": 0}
    assert codes(draft) == []


@pytest.mark.parametrize(
    ("outline", "section"), [({"sections": []}, said), (OUTLINE, lambda _: "NO_ANSWER")]
)
def test_where_the_documents_do_not_answer_the_nearest_passages_are_shown(
    cast, monkeypatch, outline, section
):
    model(monkeypatch, outline, section)

    draft = asked(cast, QUESTION, options=REPORT)

    assert (draft.outcome, draft.trace["refused"]) == (Outcome.UNSURE, True)
    assert draft.nearest


def test_without_a_usable_outline_the_report_is_written_in_one_piece(cast, monkeypatch):
    chat = model(
        monkeypatch,
        ReplyError("No JSON.", code="reply_invalid"),
        lambda r: f"## All\n\n{KEEPER} [{label(r, KEEPER)}].",
    )

    draft = asked(cast, QUESTION, options=REPORT)

    [written] = named(chat, "answer")
    assert "sections of one to three paragraphs" in written.prompt.system
    assert lines(draft) == ["## All", f"{KEEPER}."]
    assert codes(draft) == ["outline_lost"]


def test_a_heading_holds_no_markers_or_mark_up_and_is_not_repeated(cast, monkeypatch):
    outline = {"sections": [plan("# **The [1] keeper** </section>", "x")]}
    model(monkeypatch, outline, lambda r: f"## The keeper\n\n{KEEPER} [{label(r, KEEPER)}].")

    draft = asked(cast, QUESTION, options=REPORT)

    assert lines(draft) == ["## The 1 keeper /section", f"{KEEPER}."]


def test_no_more_sections_than_a_reader_can_take(cast, monkeypatch):
    outline = {"sections": [plan(f"Part {number}") for number in range(20)]}
    chat = model(monkeypatch, outline, lambda r: f"{KEEPER} [{label(r, KEEPER)}].")

    asked(cast, QUESTION, options=REPORT)

    assert len(named(chat, "answer")) == sections.MOST_SECTIONS


def test_somebody_who_stops_is_heard_between_sections(cast, monkeypatch):
    chat = model(monkeypatch)
    told = Told(stop_after=1)

    with pytest.raises(StoppedError):
        asked(cast, QUESTION, options=REPORT, told=told)

    assert told.text.startswith("## The keeper")
    assert len(named(chat, "answer")) < 3


def test_steps_say_what_is_planned_and_written(cast, monkeypatch):
    model(monkeypatch)
    told = Told()

    asked(cast, QUESTION, options=REPORT, told=told)

    steps = [payload["sentence"] for kind, payload in told.events if kind is EventKind.STEP]
    assert steps[1:][:2] == ["Planning the report.", "Writing 2 sections."]


def test_prompts_fit_a_small_window(cast, monkeypatch):
    for number in range(30):
        rows.make_document(cast.workspace, f"Light {number}", f"Skarrow light {number}. " * 120)
    chat = model(monkeypatch, window=6_000)

    asked(cast, QUESTION, options=REPORT)

    limit = chat.input_limit(Role.ANSWER)
    for request in (*named(chat, "report_outline"), *named(chat, "answer")):
        assert len(request.prompt.system + request.prompt.user) // 4 <= limit


def test_a_report_is_written_from_more_passages_than_an_answer(cast, monkeypatch):
    for number in range(40):
        rows.make_document(cast.workspace, f"Light {number}", f"The Skarrow light {number}.")
    chat = model(monkeypatch, section=lambda _: "So it is told.")

    usual, report = asked(cast), asked(cast, QUESTION, options=REPORT)

    assert (usual.trace["hits"], report.trace["hits"]) == (12, 30)
    assert len(named(chat, "answer")) == 3


def test_a_long_report_is_judged_whole(cast, monkeypatch):
    many = " ".join(f"Keeper number {number} keeps the Skarrow light [1]." for number in range(50))

    def judge(request):
        numbers = re.findall(r"^(\d+)\.$", request.prompt.user, re.MULTILINE)
        return {"verdicts": [{"sentence": int(one), "verdict": "partly"} for one in numbers]}

    outline = {"sections": [plan("Keepers")]}
    chat = model(monkeypatch, outline, lambda _: many, window=64_000, judge=judge)

    draft = asked(cast, QUESTION, options=REPORT)

    statements = [one for one in draft.sentences if one.check]
    assert len(statements) == 50
    assert {one.check.by for one in statements} == {"fake"}
    assert len([one for one in chat.requests if one.role is Role.JUDGE]) == 2
