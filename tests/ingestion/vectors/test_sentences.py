"""Every sentence of a passage has a vector of its own, as long as it is there and says the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ingestion.documents import lifecycle
from ingestion.models import (
    ArchivedSentenceVector,
    Chunk,
    Document,
    DocumentVersion,
    SentenceVector,
)
from ingestion.stage import NO_PROGRESS
from ingestion.stages import embed
from ingestion.vectors import sentences
from kb_project.llm.fake import FakeEmbedder
from kb_project.ports import build_ports
from kb_project.text.statements import Statement, StatementKind
from tests import rows
from tests.ingestion import state
from tests.ingestion.versioned import (
    FIRST_TEXT,
    GONE,
    KEPT,
    LAST,
    NEW,
    SECOND_TEXT,
    CountingEmbedder,
    change_of,
    first_version,
    fresh,
    read,
    replaced,
    reverted,
    rows_of,
)
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder", "media")]

MANUAL = """\
# The lamp

It burns for eleven hours.

```sh
lamp --on --oil=3
```

| Station | Hours |
|---------|-------|
| Skarrow | 11    |

This program is free software: you can redistribute it under the terms of the GNU General Public
License as published by the Free Software Foundation.

## Oil

It is kept in the cellar. Nobody may smoke there. The key hangs behind the door of the pantry.
The barrels are counted every spring, and what is missing is written into the log of the station.
A barrel lasts for a month in summer, and for a week in the dark of winter. Nobody may sell any of
it to passing ships, whatever they offer, since the next boat may be late by weeks or by months.
"""


@pytest.fixture
def workspace() -> Workspace:
    return rows.make_workspace()


def said(document: Document, model: Any = SentenceVector) -> dict[str, str]:
    """The chunk of every sentence that has a vector, by its words."""
    with access.in_workspace(document.workspace_id):
        found = model.objects.in_workspace(document.workspace_id).select_related("chunk")
        return {one.chunk.text[one.start : one.end]: str(one.chunk_id) for one in found}


def vector_of(document: Document, sentence: str) -> Any:
    with access.in_workspace(document.workspace_id):
        for one in SentenceVector.objects.select_related("chunk"):
            if one.chunk.text[one.start : one.end] == sentence:
                return np.array(list(one.vector))
    raise LookupError(sentence)


def made_of(text: str) -> Any:
    return FakeEmbedder().embed_passages([text])[0]


def change_regions(document: Document, regions: Sequence[Sequence[object]]) -> None:
    with access.in_workspace(document.workspace_id):
        Chunk.objects.in_workspace(document.workspace_id).update(regions=list(regions))


def test_each_sentence_is_embedded_under_its_title_and_heading(workspace: Workspace):
    document = first_version(workspace)

    assert set(said(document)) >= {KEPT, GONE, LAST}
    title = fresh(document).title
    assert np.allclose(vector_of(document, KEPT), made_of(f"{title}: Light: {KEPT}"), atol=1e-3)


def test_furniture_and_code_have_none_and_headings_and_rows_of_tables_have(workspace: Workspace):
    document = first_version(workspace, MANUAL, chunking={"strategy": "fixed"})

    found = list(said(document))

    assert "It burns for eleven hours." in found
    assert "| Skarrow | 11    |" in found
    assert {"# The lamp", "## Oil"} <= set(found)
    for furniture in ("lamp --on", "free software"):
        assert not [one for one in found if furniture in one]


def test_a_document_of_code_alone_is_read_without_any(workspace: Workspace):
    document = first_version(workspace, "```c\nint main() { return 0; }\n```\n")

    assert said(document) == {}
    assert fresh(document).state == "ready"


def test_what_is_embedded_already_is_not_embedded_again(workspace: Workspace):
    document = first_version(workspace)
    embedder = CountingEmbedder()

    versions = [row.pk for row in rows_of(document, DocumentVersion)]
    embed.embed_sentences(workspace.pk, versions, embedder, NO_PROGRESS)

    assert embedder.texts == []


def test_vectors_of_another_model_give_way(workspace: Workspace):
    document = first_version(workspace)
    with access.in_workspace(workspace.pk):
        SentenceVector.objects.in_workspace(workspace).update(fingerprint="an older model")
    before = said(document)

    versions = [row.pk for row in rows_of(document, DocumentVersion)]
    embed.embed_sentences(workspace.pk, versions, build_ports().embedder, NO_PROGRESS)

    assert said(document) == before
    kept = {row.fingerprint for row in rows_of(document, SentenceVector)}
    assert kept == {build_ports().embedder.fingerprint}


def test_a_new_version_has_vectors_of_what_it_says(workspace: Workspace):
    document = first_version(workspace)
    before = said(document)

    replaced(document, SECOND_TEXT)
    read(workspace)

    after = said(document)
    assert GONE not in after
    assert NEW in after
    assert after[KEPT] == before[KEPT]

    reverted(document, 1)
    read(workspace)

    assert set(said(document)) == set(before)


def test_a_sentence_under_another_heading_is_embedded_again(workspace: Workspace):
    document = first_version(workspace)
    title = fresh(document).title

    replaced(document, FIRST_TEXT.replace("# Boats", "# Ships of the harbour"))
    read(workspace)

    wanted = made_of(f"{title}: Ships of the harbour: {LAST}")
    assert np.allclose(vector_of(document, LAST), wanted, atol=1e-3)


def test_what_turns_out_to_be_furniture_loses_its_vectors(workspace: Workspace):
    document = first_version(workspace)
    # As if it had been read before prose was told from furniture.
    change_regions(document, [["code", 0, 5]])

    replaced(document, f"{FIRST_TEXT}\nA line that makes it another file.\n")
    read(workspace)

    [kept] = [one for one in rows_of(document, Chunk) if one.text.strip() == KEPT]
    assert kept.regions == []
    assert KEPT in said(document)


def test_they_are_put_away_with_the_document_and_come_back_with_it(workspace: Workspace):
    document = first_version(workspace)
    before = said(document)

    lifecycle.documents_trash(change=change_of(document), documents=[document])

    assert said(document) == {}
    assert said(document, ArchivedSentenceVector) == before

    lifecycle.documents_restore(change=change_of(document), documents=[fresh(document)])

    assert said(document) == before
    assert said(document, ArchivedSentenceVector) == {}


@pytest.mark.django_db(transaction=True)
def test_they_are_deleted_with_the_document(workspace: Workspace):
    document, kept = state.read(workspace, {"Log": KEPT, "Ledger": GONE}).values()
    assert set(said(kept)) == {KEPT, GONE}
    lifecycle.documents_trash(change=change_of(document), documents=[document])

    lifecycle.documents_delete(change=change_of(document), documents=[fresh(document)])

    assert list(said(kept)) == [GONE]
    assert rows_of(kept, ArchivedSentenceVector) == []


def test_a_chunk_that_went_meanwhile_takes_no_vectors(workspace: Workspace):
    document = first_version(workspace)
    with access.in_workspace(workspace.pk):
        chunks = list(Chunk.objects.in_workspace(workspace).select_related("document"))
    lifecycle.documents_trash(change=change_of(document), documents=[document])

    sentences.make(workspace.pk, chunks, build_ports().embedder)

    assert said(document) == {}


def test_another_workspace_sees_none_of_them(workspace: Workspace):
    first_version(workspace)
    other = first_version(rows.make_workspace("Elsewhere"), f"{NEW}\n")

    assert list(said(other)) == [NEW]


def stated(text: str, kind: StatementKind = StatementKind.SENTENCE) -> Statement:
    return Statement(0, len(text), kind, text)


def test_what_hardly_has_words_gets_no_vector_and_neither_does_the_hundred_and_first():
    marks, real = stated("[](){}[](){} a [](){}"), [stated(f"Light {n}.") for n in range(120)]

    embedded = sentences.embeddable([marks, *real])

    assert [one for one, _ in embedded] == real[: sentences.MOST]
    assert sentences.embeddable([stated("灯塔在岛上。")]) != []
    assert sentences.embeddable([stated("x² + y² = r²")]) != []


@pytest.mark.parametrize(
    ("before", "said", "is_needed"),
    [
        (stated("Skarrow is a light."), "It was lit in 1869.", True),
        (stated("Skarrow is a light."), "Voar is an island.", False),
        (stated("Skarrow", StatementKind.HEADING), "It was lit in 1869.", False),
        (stated("斯卡罗是灯塔。"), "它建于1869年。", False),
    ],
)
def test_a_sentence_that_begins_with_a_pronoun_is_embedded_with_the_one_before_it(
    before, said, is_needed
):
    [*_, (_, with_it)] = sentences.embeddable([before, stated(said)])

    assert with_it == (before.said if is_needed else "")
