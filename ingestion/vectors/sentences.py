"""Vectors of the single sentences that answers are made of.

A passage of 800 tokens is found by what it is about; the one sentence in it that answers a question
is found by its own vector. Each is embedded with its document's title and its heading, and in
English with the sentence before it if it begins with a pronoun: *It was lit in 1869.* The built-in
model embeds them, whichever model embeds the workspace's passages: tens of thousands of short texts
should cost nothing. Measured on eleven manuals and books (7,700 sentences): the answer was among
the ten nearest sentences overall for 85 % of the questions, and in the twelve nearest passages for
74 %.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Final, LiteralString

from ingestion.models import Chunk, SentenceVector
from ingestion.vectors.chunks import literals
from kb_project.llm.ports import Embedder
from kb_project.sql import run_sql
from kb_project.text.languages import HAN
from kb_project.text.regions import from_json
from kb_project.text.sentences import begins_with_pronoun
from kb_project.text.statements import Statement, StatementKind, statements
from workspaces import access

BATCH: Final = 8
"""Chunks whose sentences are stored by one statement: a few seconds of work."""
LONGEST: Final = 600
"""Characters of a sentence that are embedded …"""
LONGEST_BEFORE: Final = 300
"""… and of the one before it."""
MOST: Final = 100
"""Sentences of a chunk that are embedded: ordinary ones have some forty."""
LEAST_WORDED: Final = 1 / 3
"""The least share of letters and digits in what is embedded: nobody asks for brackets, and each of
them costs as much as a word."""

# A chunk that was replaced or archived meanwhile gets no vectors.
ADD_VECTORS: Final[LiteralString] = """
INSERT INTO ingestion_sentencevector (workspace_id, chunk_id, start, "end", fingerprint, vector)
SELECT c.workspace_id, c.id, t.first, t.last, %(fingerprint)s, t.vector::halfvec
  FROM unnest(%(chunks)s::uuid[], %(starts)s::int4[], %(ends)s::int4[], %(vectors)s::text[])
       AS t (chunk, first, last, vector)
  JOIN ingestion_chunk AS c ON c.workspace_id = %(workspace)s AND c.id = t.chunk
   FOR KEY SHARE OF c
ON CONFLICT (workspace_id, chunk_id, start, fingerprint)
   DO UPDATE SET vector = excluded.vector, "end" = excluded."end"
"""


def make(workspace_id: uuid.UUID, chunks: Sequence[Chunk], embedder: Embedder) -> None:
    """Embed the chunks' sentences and store the vectors. Call outside a transaction."""
    found = [
        (chunk, statement, before)
        for chunk in chunks
        for statement, before in embeddable(statements(chunk.text, from_json(chunk.regions)))
    ]
    if not found:
        return
    made = embedder.embed_passages(
        [
            situated(chunk.document.title, chunk.heading_path, statement, before)
            for chunk, statement, before in found
        ]
    )
    values = {
        "workspace": workspace_id,
        "fingerprint": embedder.fingerprint,
        "chunks": [chunk.pk for chunk, *_ in found],
        "starts": [one.start for _, one, _ in found],
        "ends": [one.end for _, one, _ in found],
        "vectors": literals(made),
    }
    with access.in_workspace(workspace_id):
        run_sql(ADD_VECTORS, values)
        stored = SentenceVector.objects.in_workspace(workspace_id)
        stored = stored.filter(chunk_id__in={chunk.pk for chunk, *_ in found})
        stored.exclude(fingerprint=embedder.fingerprint).delete()


def embeddable(found: Iterable[Statement]) -> list[tuple[Statement, str]]:
    """Return the statements to embed, each with the sentence that it cannot do without."""
    made, before = [], ""
    for one in found:
        if is_worded(one.said):
            made.append((one, before if leans_on_the_one_before(one) else ""))
        before = one.said if one.kind is StatementKind.SENTENCE else ""
    return made[:MOST]


def leans_on_the_one_before(one: Statement) -> bool:
    """Whether a statement is embedded with the sentence before it: this helps in English, and harms
    in Chinese (measured)."""
    is_sentence = one.kind is StatementKind.SENTENCE
    return is_sentence and begins_with_pronoun(one.said) and not HAN.search(one.said)


def is_worded(text: str) -> bool:
    """Whether enough of the text is letters and digits.

    >>> is_worded("It is lit."), is_worded("x² + y² = r²"), is_worded("[](){}[](){} a")
    (True, True, False)
    """
    characters = sum(not character.isspace() for character in text)
    return sum(map(str.isalnum, text)) >= LEAST_WORDED * characters


def forget(workspace_id: uuid.UUID, chunks: Sequence[uuid.UUID]) -> None:
    """Drop the sentence vectors of chunks whose text or headings have changed."""
    SentenceVector.objects.in_workspace(workspace_id).filter(chunk_id__in=chunks).delete()


def situated(title: str, path: Sequence[str], statement: Statement, before: str = "") -> str:
    """The text embedded for a sentence.

    >>> lit = Statement(0, 9, StatementKind.SENTENCE, "It is lit.")
    >>> situated("The Lens", (), lit), situated("The Lens", ("Notes",), lit, "Skarrow is a light.")
    ('The Lens: It is lit.', 'The Lens: Notes: Skarrow is a light. It is lit.')
    """
    heading = statement.path[-1][1] if statement.path else next(iter(path[-1:]), "")
    said = f"{before[:LONGEST_BEFORE]} {statement.said[:LONGEST]}".lstrip()
    parts = [title, heading if heading != title else "", said]
    return ": ".join(filter(None, parts))
