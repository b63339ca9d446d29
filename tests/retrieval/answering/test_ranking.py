from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from ingestion.vectors import sentences as embedded
from kb_project.llm.ports import Told, Vectors
from kb_project.ports import build_ports
from kb_project.text.regions import LABEL, Region, RegionKind
from retrieval.answering import extractive, features, ranking
from retrieval.answering.extractive import outcome_of
from retrieval.answering.features import Rarity
from retrieval.models import Outcome
from retrieval.search import sentences
from retrieval.search.query import Query, QuestionVector, ScoredChunk
from retrieval.search.results import hydrate
from tests import rows
from tests.retrieval.answering.passages import gathered, hit
from workspaces import access

TEXT = (
    "Skarrow is a rock in the sea. Ada Lind lit the lamp of Skarrow in 1866. "
    "The quarry road is closed in winter. Bread is baked on Mondays."
)


def test_the_statement_with_the_words_and_the_kind_asked_for_comes_first():
    ranked = ranking.rank(gathered("When did Ada Lind light the lamp?", hit(TEXT))).ranked

    assert ranked[0].candidate.said == "Ada Lind lit the lamp of Skarrow in 1866."


def test_asked_how_something_is_done_a_statement_that_tells_what_to_do_comes_first():
    text = "The wick of the lamp is often changed. Open the glass to change the wick of the lamp."

    [first, *_] = ranking.rank(gathered("How do I change the wick of the lamp?", hit(text))).ranked
    [other, *_] = ranking.rank(gathered("Why change the wick of the lamp?", hit(text))).ranked

    assert first.candidate.said == "Open the glass to change the wick of the lamp."
    assert other.candidate.said == "The wick of the lamp is often changed."


def test_asked_why_a_statement_that_gives_the_reason_comes_first():
    text = "The wick of the lamp was changed by the keeper. The lamp smoked because it was old."

    [why, *_] = ranking.rank(gathered("Why was the wick of the lamp changed?", hit(text))).ranked
    [who, *_] = ranking.rank(gathered("Who changed the wick of the lamp?", hit(text))).ranked

    assert why.candidate.said == "The lamp smoked because it was old."
    assert who.candidate.said == "The wick of the lamp was changed by the keeper."


@pytest.mark.parametrize(
    "definition",
    [
        "A wick is a band of cotton in which oil rises to the flame.",
        "WICK, n. A band of cotton in which oil rises.",
        "The band of cotton, or wick for short, is what the oil rises in.",
        "The oil rises to the flame in a band of cotton, known as the wick.",
        "That band of cotton is the wick, and it is changed by night.",
        "Every flame has its own wick, a band of cotton in oil.",
    ],
)
def test_asked_what_something_is_the_statement_that_defines_it_comes_first(definition):
    text = f"The wick was lit. The wick of the lamp was often changed by the keeper. {definition}"

    [first, *_] = ranking.rank(gathered("What is a wick?", hit(text))).ranked

    assert first.candidate.said == definition


def test_asked_what_something_is_a_statement_about_it_comes_before_one_below_its_name():
    text = "Written for new trustees.\nThe Skarrow Trust keeps three lights."

    passage = hit(text, title="The Skarrow Trust", headings=("The Skarrow Trust",))
    [first, *_] = ranking.rank(gathered("What is the Skarrow Trust?", passage)).ranked

    assert first.candidate.said == "The Skarrow Trust keeps three lights."


TABLE = "| code | name |\n| --- | --- |\n| CANDLE | Bram |"


def test_a_row_that_has_no_more_than_the_words_asked_for_answers_nothing():
    table = Region(RegionKind.TABLE, 0, len(TABLE))

    made = gathered("What is the code CANDLE of Bram?", hit(TABLE, regions=(table,)))
    other = gathered("Who is CANDLE?", hit(TABLE, regions=(table,)))

    assert made.statements == []
    assert [one.said for one in other.statements] == ["code: CANDLE; name: Bram"]


def test_what_stands_below_a_term_defines_it():
    text = "The wick was lit.\n\nWick\nA band of cotton in which oil rises.\nIt is changed often."
    term = Region(RegionKind.HEADING, 19, 23, LABEL)

    [first, *_] = ranking.rank(gathered("What is a wick?", hit(text, regions=(term,)))).ranked

    assert first.candidate.said == "A band of cotton in which oil rises."


def test_shares_are_those_of_one_whole_and_fall():
    ranked = ranking.rank(gathered("Who lit the lamp?", hit(TEXT))).ranked
    shares = [one.share for one in ranked]

    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)


def test_no_statement_gives_no_probability():
    assert ranking.rank(gathered("Who lit the lamp?")).probability == 0.0


def test_the_weights_are_of_features_there_are_and_of_the_model_inside(settings):
    kept = json.loads(ranking.FILE.read_text(encoding="utf-8"))

    by_words = {"statement", "answered", "answered_by_words"}
    for script in ("any", "zh"):
        assert set(kept[script]) == by_words | {"read", "answered_read"}
        assert set(kept[script]["statement"]) <= set(features.NAMES)
    assert not {"nearest", "apart", "best_meaning"} & set(kept["any"]["answered_by_words"])


def test_a_question_whose_words_nobody_knows_is_less_probably_answered():
    known = ranking.rank(gathered("Who lit the lamp of Skarrow?", hit(TEXT))).probability
    unknown = ranking.rank(gathered("Who paired the Bluetooth headphones?", hit(TEXT))).probability

    assert unknown < known


@given(st.text(max_size=200), st.text(max_size=60))
def test_whatever_is_asked_of_whatever_text_gets_a_probability_and_an_outcome(text, question):
    told = ranking.rank(gathered(question, hit(text)))

    assert 0.0 <= told.probability <= 1.0
    assert outcome_of(told.probability) in Outcome
    assert all(one.candidate.start < one.candidate.end for one in told.ranked)


@given(st.text(max_size=60), st.text(max_size=60))
@example(one="\u00a0", other="s")
def test_whatever_is_to_be_defined_is_looked_for(one, other):
    for question in (f"What is {one}?", f"Compare {one} and {other}"):
        ranking.rank(gathered(question, hit(f"{one} is a {other}.")))


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9)), st.integers(1, 9))
def test_a_rarer_word_is_never_worth_less_and_unknown_is_a_share(frequencies, chunks):
    rarity = Rarity(frequencies, chunks)

    for one in frequencies:
        for other in frequencies:
            if frequencies[one] < frequencies[other]:
                assert rarity.of(one) >= rarity.of(other)
    assert 0.0 <= rarity.unknown(list("abcdef")) <= 1.0


pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

LOG = "The boat came on Friday. It brought oil and letters.\n\nAda Lind lit the lamp at dusk."
ROADS = "The quarry road is closed in winter."


class Desk:
    """A workspace with two documents whose sentences are embedded, and questions to it."""

    def __init__(self) -> None:
        self.cast = rows.make_cast()
        self.embedder = build_ports().embedder
        self.log, self.roads = (
            rows.make_document(self.cast.workspace, title, text, embedder=self.embedder)
            for title, text in (("Log", LOG), ("Roads", ROADS))
        )
        for document in (self.log, self.roads):
            embedded.make(self.cast.workspace.pk, rows.chunks_of(document), self.embedder)

    def query(self, question, **options):
        vector = QuestionVector(self.embedder, question)
        return Query(self.cast.workspace.pk, question, 5, vector, **options)

    def hits(self, document):
        found = [ScoredChunk(one.pk, 1.0) for one in rows.chunks_of(document)]
        return hydrate(self.cast.workspace.pk, found)

    def gather(self, query, found):
        vector = sentences.vector_of(query, query.question)
        vector.make()
        with access.in_workspace(self.cast.workspace.pk):
            return ranking.gather(query, found(), vector)


@pytest.fixture
def desk(fake_embedder):
    return Desk()


def test_the_nearest_sentence_brings_its_passage_along(desk):
    query = desk.query("Roads: The quarry road is closed in winter.")

    made = desk.gather(query, list)

    assert made.statements[0].said == ROADS or ROADS in {one.said for one in made.statements}
    assert {hit.document_id for hit in made.hits} >= {desk.roads.pk}
    assert all(hit.why == ranking.WHY for hit in made.hits)


def test_what_stands_outside_the_scope_is_not_looked_at(desk):
    query = desk.query("Roads: The quarry road is closed.", documents=(desk.log.pk,))

    made = desk.gather(query, list)

    assert {hit.document_id for hit in made.hits} == {desk.log.pk}


def test_a_passage_found_keeps_its_place_before_those_that_join(desk):
    query = desk.query("Who lit the lamp?")

    made = desk.gather(query, lambda: desk.hits(desk.roads))

    assert made.hits[0].document_id == desk.roads.pk
    assert len({hit.chunk_id for hit in made.hits}) == len(made.hits)


def test_a_document_that_is_new_and_without_vectors_answers_by_its_words(desk):
    said = "The fog bell was bought in Voar."
    new = rows.make_document(desk.cast.workspace, "Bell", said, embedder=desk.embedder)

    made = desk.gather(
        desk.query("Where was the fog bell bought?"),
        lambda: [*desk.hits(desk.log), *desk.hits(new)],
    )

    told = ranking.rank(made)
    assert told.ranked[0].candidate.said == said
    assert outcome_of(told.probability) is Outcome.ANSWERED


class Encoder:
    """Gives the statement that says it a score, and all others another one."""

    def __init__(self, said: str, score: float = 99.0) -> None:
        self.said, self.score = said, score
        self.read: list[Told] = []

    def scores(self, question: str, statements: Sequence[Told]) -> Vectors:
        self.read += statements
        return np.array([self.score if one.said == self.said else -9.0 for one in statements])


def test_the_statement_that_the_cross_encoder_finds_comes_first(desk):
    made = desk.gather(desk.query("Who lit the lamp?"), lambda: desk.hits(desk.log))
    encoder = Encoder("It brought oil and letters.")

    read = ranking.read(made, encoder)

    assert ranking.rank(made).ranked[0].candidate.said != encoder.said
    assert ranking.rank(made, read).ranked[0].candidate.said == encoder.said
    assert Told("Log", "", "The boat came on Friday.", encoder.said) in encoder.read


def test_it_reads_the_best_statements_only(desk):
    long = " ".join(f"Keeper {number} lit the lamp." for number in range(30))
    document = rows.make_document(desk.cast.workspace, "Long", long, embedder=desk.embedder)
    embedded.make(desk.cast.workspace.pk, rows.chunks_of(document), desk.embedder)
    made = desk.gather(desk.query("Who lit the lamp?"), lambda: desk.hits(document))
    encoder = Encoder("")

    ranking.read(made, encoder)

    assert len(made.statements) > len(encoder.read) == ranking.READ


def test_it_reads_a_line_together_with_the_list_that_the_line_introduces():
    passage = hit("The keepers were:\n\n- Ada Lind\n- Bram Oke\n\nThe lamp was lit.", title="Log")
    made = gathered("Who were the keepers?", passage)

    read = [one.said for one in ranking.texts_to_read(made.candidates, made.candidates)]

    assert read == [
        "The keepers were: Ada Lind; Bram Oke",
        "Ada Lind",
        "Bram Oke",
        "The lamp was lit.",
    ]


def test_what_the_cross_encoder_finds_is_answered_and_what_it_does_not_find_is_not(desk):
    said = "Ada Lind lit the lamp at dusk."
    made = desk.gather(desk.query("Who lit the lamp?"), lambda: desk.hits(desk.log))

    unknown = desk.gather(desk.query("Who paired the headphones?"), lambda: desk.hits(desk.log))

    def outcome(gathered, encoder):
        return outcome_of(ranking.rank(gathered, ranking.read(gathered, encoder)).probability)

    assert outcome(made, Encoder(said)) is Outcome.ANSWERED
    assert outcome(made, Encoder("")) is not Outcome.ANSWERED
    assert outcome(unknown, Encoder(said, 0.5)) is Outcome.NOTHING


def test_a_document_that_is_new_and_without_vectors_is_not_read(desk):
    said = "The fog bell was bought in Voar."
    new = rows.make_document(desk.cast.workspace, "Bell", said, embedder=desk.embedder)
    query = desk.query("Where was the fog bell bought?")

    made = desk.gather(query, lambda: [*desk.hits(desk.log), *desk.hits(new)])

    assert ranking.read(made, Encoder(said)) is None


def test_words_that_no_document_holds_are_unknown(desk):
    made = desk.gather(desk.query("Who paired the headphones?"), list)

    assert ranking.of_question(made)["unknown"] == pytest.approx(1.0)


def test_a_model_whose_cosines_were_not_learnt_is_not_believed(desk):
    parts = extractive.prepared(desk.query("Who lit the lamp?"))

    assert [vector for _, vector in parts] == [None]


def test_an_empty_workspace_has_nothing_to_tell(desk):
    empty = rows.make_workspace("Empty")
    query = Query(empty.pk, "Who lit the lamp?", 5, QuestionVector(desk.embedder, "Who?"))

    parts = extractive.prepared(query)
    choice = extractive.extract(query, [], parts).choice

    assert (choice.outcome, list(choice.chosen), list(choice.nearest)) == (Outcome.NOTHING, [], [])
