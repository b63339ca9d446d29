from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ingestion.documents import trial_reading
from ingestion.management.commands.ingest import extents_of
from ingestion.models import ChunkExtraction
from kb_project.errors import ParseError
from kb_project.llm.ports import ChatRequest, Role
from tests.ingestion.jobs import add, document_of
from tests.ingestion.scripted import NOTHING, ScriptedChat
from tests.ingestion.versioned import (
    FIRST_TEXT,
    KEPT,
    LAST,
    NEW,
    SECOND_TEXT,
    first_version,
    passages,
    ports_with,
    read,
    replaced,
    reverted,
    rows_of,
)
from tests.rows import Cast, make_cast

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder", "media")]

SAID = "It is from the chronicle of the harbour."


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def script(request: ChatRequest[Any]) -> dict[str, Any] | str:
    return SAID if request.role == Role.SITUATE else NOTHING


def by_model(cast: Cast):
    """A document that a model has read, and the model that did."""
    document = first_version(cast.workspace)
    chat = ScriptedChat(script)
    replaced(document, FIRST_TEXT + "\nIt is calm.\n")
    read(cast.workspace, ports_with(chat=chat), refreshes=False)
    chat.asked.clear()
    return document, chat


def asked_about(chat: ScriptedChat, document) -> Counter[tuple[str, str]]:
    texts = {one.pk: text for text, one in passages(document).items()}
    requests = [one for one in chat.asked if one.role in (Role.SITUATE, Role.EXTRACT)]
    asked = [(one.role.value, one.about.chunk_id) for one in requests]
    return Counter((role, texts.get(chunk, "?") if chunk else "?") for role, chunk in asked)


def test_a_model_is_asked_only_about_what_is_new(cast: Cast):
    document, _ = by_model(cast)
    # With no cache of replies: whatever is asked is counted.
    chat = ScriptedChat(script)

    replaced(document, SECOND_TEXT)
    read(cast.workspace, ports_with(chat=chat), refreshes=False)

    asked = asked_about(chat, document)
    assert {text for _, text in asked} & {KEPT, LAST} == set()
    assert {(role.value, NEW) for role in (Role.SITUATE, Role.EXTRACT)} <= set(asked)
    now = passages(document)
    assert now[KEPT].context.endswith(SAID)
    assert now[NEW].context.endswith(SAID)


def expected(cast: Cast, document, file: Path):
    return trial_reading.replacement_extent(
        workspace=cast.workspace, document_id=document.pk, path=file, name=file.name
    )


def test_only_new_passages_count_in_what_a_replacement_is_expected_to_cost(
    cast: Cast, tmp_path: Path
):
    document, _ = by_model(cast)
    file = tmp_path / "log.md"
    file.write_text(SECOND_TEXT)

    extent = expected(cast, document, file)
    chat = ScriptedChat(script)
    replaced(document, SECOND_TEXT)
    read(cast.workspace, ports_with(chat=chat), refreshes=False)

    unread = extent.passages.high - extent.known_extractions
    assert extent.passages.low == extent.passages.high == len(passages(document))
    asked = {text for role, text in asked_about(chat, document) if role == Role.EXTRACT.value}
    assert unread == len(asked) > 1


def test_summaries_above_what_changes_are_expected_again(cast: Cast, tmp_path: Path):
    told = [f"On day {day} {name} rowed." for day in range(8) for name in ("Ada", "Bo", "Olaf")]
    document = first_version(cast.workspace, "\n\n".join(told))
    chat = ScriptedChat(lambda one: NOTHING if one.schema else f"It says {one.prompt.user}")
    replaced(document, "\n\n".join([*told, "All is calm."]))
    read(cast.workspace, ports_with(chat=chat))
    chat.asked.clear()
    file = tmp_path / "log.md"
    file.write_text("\n\n".join([*told, "All is wet."]))

    extent = expected(cast, document, file)
    replaced(document, file.read_text())
    read(cast.workspace, ports_with(chat=chat))

    summaries = [one for one in chat.asked if one.about.stage == "tree"]
    assert extent.above is not None
    assert extent.above["tree"].low == extent.above["tree"].high == len(summaries) > 1


def test_a_new_file_is_expected_to_take_a_call_for_each_passage_that_is_more_than_a_licence(
    cast: Cast, tmp_path: Path
):
    told = " ".join(f"On day {day} Ada Lind lit the lamp of Skarrow." for day in range(300))
    terms = "Redistributing the work is easy and needs no leave of anyone. " * 200
    text = f"{told}\n\n*** END OF THIS PROJECT GUTENBERG EBOOK A LAMP ***\n\n{terms}"
    file = tmp_path / "lamp.txt"
    file.write_text(text)

    extent = trial_reading.new_extents(workspace=cast.workspace, files={file: file.name})[file]
    chat = ScriptedChat(script)
    job = add(cast.workspace, file.name, text)
    read(cast.workspace, ports_with(chat=chat), refreshes=False)

    asked = asked_about(chat, document_of(job))
    read_by_model = {passage for role, passage in asked if role == Role.EXTRACT.value}
    situated = {passage for role, passage in asked if role == Role.SITUATE.value}
    assert extent.passages.low == extent.passages.high == len(read_by_model) == len(situated) > 1
    assert len(read_by_model) < len(passages(document_of(job)))


def test_a_file_that_cannot_be_read_is_expected_to_replace_nothing(cast: Cast, tmp_path: Path):
    document, _ = by_model(cast)
    file = tmp_path / "log.md"
    file.write_bytes(b"%PDF-1.4 broken")

    with pytest.raises(ParseError):
        expected(cast, document, file)
    # The command adds up many files: it takes such a one by its size.
    assert extents_of(cast.workspace, [file], is_replacing=True) == {}


def test_another_heading_is_another_question(cast: Cast):
    document, _ = by_model(cast)
    before = passages(document)
    chat = ScriptedChat(script)

    replaced(document, FIRST_TEXT.replace("# Light", "# Fire"))
    read(cast.workspace, ports_with(chat=chat), refreshes=False)

    asked = asked_about(chat, document)
    assert ("extract", KEPT) in asked
    assert ("extract", LAST) not in asked
    assert passages(document)[KEPT].pk == before[KEPT].pk
    methods = {row.method for row in rows_of(document, ChunkExtraction)}
    assert "" not in methods


def test_going_back_asks_about_what_had_gone_only(cast: Cast):
    document, _ = by_model(cast)
    chat = ScriptedChat(script)
    replaced(document, SECOND_TEXT)
    read(cast.workspace, ports_with(chat=chat), refreshes=False)
    chat.asked.clear()

    reverted(document, 2)
    read(cast.workspace, ports_with(chat=chat), refreshes=False)

    assert {text for _, text in asked_about(chat, document)} & {KEPT, LAST} == set()
