from __future__ import annotations

import pytest

from retrieval.search import query_features as signs
from retrieval.search.answer_kinds import Kind, kind_of
from retrieval.search.query_features import is_filler, read


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who was Scrooge's business partner?", Kind.PERSON),
        ("From whom did the Trust rent the house?", Kind.PERSON),
        ("When was the lens relit?", Kind.DATE),
        ("In which year did the fire happen?", Kind.DATE),
        ("Where did Coulson Wallop's father study?", Kind.PLACE),
        ("Which harbour does the firm work from?", Kind.PLACE),
        ("How many prisms were broken?", Kind.NUMBER),
        ("What is the price of the contract?", Kind.MONEY),
        ("What did the pilot cutter Petrel cost?", Kind.MONEY),
        ("How often is the lamp lit?", Kind.FREQUENCY),
        ("How long did the repair take?", Kind.DURATION),
        ("How long was it dark after the fire?", Kind.DURATION),
        ("How long is the pier?", Kind.NUMBER),
        ("Why did the door fail?", Kind.REASON),
        ("What happened when the door failed?", Kind.OPEN),
        ("Who lit the lens, and when?", Kind.DATE),
        ("Since when is the lens dark?", Kind.DATE),
        ("How do I clean the lens?", Kind.PROCEDURE),
        ("What should I do when the lamp fails?", Kind.PROCEDURE),
        ("At which frequency is the buzzer loudest?", Kind.NUMBER),
        ("What worries the trustees?", Kind.OPEN),
        ("朱元璋的父亲是谁？", Kind.PERSON),
        ("朱元璋出生于哪一年？", Kind.DATE),
        ("他在哪里出家？", Kind.PLACE),
        ("一共浇铸了多少块？", Kind.NUMBER),
        ("经费为什么减少？", Kind.OPEN),
    ],
)
def test_the_kind_is_what_the_question_word_asks_for(question, kind):
    assert kind_of(question) is kind


def test_names_are_the_capitalised_words_inside_the_sentence():
    sought = read("Which apprentice of the Trust met Jamie Flett in 2024?")

    assert sought.names == {"trust", "jami", "flett", "2024"}
    assert "apprentic" in sought.terms


def test_the_first_word_is_capitalised_anyway():
    assert read("Lighthouses are built why?").names == frozenset()


def test_words_that_ask_are_not_what_an_answer_must_hold():
    assert read("How many logbooks were lost during the fire?").terms == ("logbook", "lost", "fire")


def test_pairs_of_chinese_characters_that_straddle_words_are_filler():
    assert is_filler("璋的")
    assert not is_filler("父亲")
    assert not is_filler("where")


def test_a_question_of_little_words_seeks_nothing_in_particular():
    assert read("What is it?").terms == ()
    assert read("Please list all keepers of Orran.").terms == ("keeper", "orran")


def test_words_that_ask_for_the_whole_or_for_change_are_not_sought():
    assert read("What are the main lessons of the fire?").terms == ("fire",)
    assert read("How has the budget changed since 2022?").terms == ("budget", "2022")
    assert read("What are these documents about?").terms == ()


def test_the_same_words_are_sought_where_they_are_the_subject():
    assert read("Who changed the documents?").terms == ("chang", "document")


EVERYDAY = (
    "Who was McGee married to?",
    "Where did Fitzgerald meet MacArthur?",
    "When did the film of 1982 come out?",
    "How long is the contract with the harbour?",
    "Which ship sank first, the Selkie or the Petrel?",
    "Why was the 2nd Earl banished?",
    "What is the overall cost of the lens?",
    "Who changed the locks?",
    "How do I change my address?",
    "What is the main gate made of?",
    "谁是第一任所长？",
)


@pytest.mark.parametrize("question", EVERYDAY)
def test_an_everyday_question_is_neither_technical_nor_about_everything(question):
    assert signs.technical_signs(question) == (0, 0)
    assert not signs.asks_for_whole(question)
    assert not signs.asks_for_change(question)
    assert not signs.asks_broadly(question)


@pytest.mark.parametrize(
    "identifier",
    [
        "`run`",
        "start()",
        "std::vector",
        "node->next",
        "weight_col",
        "MAX_SIZE",
        "getTarget",
        "HttpClient",
        "HTTPClient",
        "A1z26",
        "test1",
        "settings.toml",
        "main.rs",
    ],
)
def test_what_is_spelled_like_an_identifier_is_one(identifier):
    identifiers, _ = signs.technical_signs(f"What is {identifier} for?")

    assert identifiers >= 1


@pytest.mark.parametrize("name", ["McKenzie", "MacArthur", "O'Brien", "MB-2", "iPhone", "GPT-4"])
def test_a_name_with_a_capital_or_digit_inside_is_no_identifier(name):
    assert signs.technical_signs(f"Who made {name}?")[0] == 0


@pytest.mark.parametrize(
    "question",
    [
        "What are the main themes?",
        "What are the most important recurring themes here?",
        "Overall, what went wrong?",
        "What do all the documents agree on across the files?",
        "What are these documents about?",
        "Summarize it all",
        "Give me the gist of everything.",
        "核心观点是什么？",
        "所有文件讲了什么？",
    ],
)
def test_questions_about_everything(question):
    assert signs.asks_for_whole(question)


@pytest.mark.parametrize(
    "question",
    [
        "How has the fleet changed?",
        "How did the price of oil develop?",
        "How have attitudes shifted since the storm?",
        "What changed after 2021?",
        "What did keepers earn over the years?",
        "预算是如何变的？",
        "人口的变化",
    ],
)
def test_questions_about_change(question):
    assert signs.asks_for_change(question)


@pytest.mark.parametrize(
    "question",
    ["How do you change the lens?", "How does the driver change the wheel?", "Who grew the roses?"],
)
def test_doing_a_change_is_no_question_about_change(question):
    assert not signs.asks_for_change(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where did Ada Lind's father study?",
        "What is the name of the ship of the firm that cut the lens?",
        "Who led the expedition that found the island, and when did she die?",
        "After whom was the boat named?",
        "Are both in the same country?",
        "张三的父亲的职业是什么？",
        "两人之间有什么关系？",
    ],
)
def test_questions_that_go_on_from_one_thing_to_another(question):
    assert signs.goes_on(question)


@pytest.mark.parametrize("question", ["Who is Ada?", "When was the lens cut?", "谁来了？"])
def test_questions_of_one_step(question):
    assert not signs.goes_on(question)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Who is Ada Lind?", "Ada Lind"),
        ("what was the Great Lens", "Great Lens"),
        ("Where are the Orran Isles?", "Orran Isles"),
        ("沈立群是谁", "沈立群"),
        ("Who cut the lens?", ""),
    ],
)
def test_what_a_question_asks_for_and_nothing_else(question, name):
    assert signs.named_alone(question) == name


@pytest.mark.parametrize("filler", ["a ", "the same of who ", "how has ", "`", "x_", "的", "A1b"])
def test_no_question_takes_long_to_read(filler):
    question = (filler * 4000)[:4000]

    assert isinstance(signs.asks_for_whole(question), bool)
    assert isinstance(signs.asks_for_change(question), bool)
    assert isinstance(signs.asks_broadly(question), bool)
    assert isinstance(signs.goes_on(question), bool)
    assert isinstance(signs.compares(question), bool)
    assert isinstance(signs.named_alone(question), str)
    assert isinstance(signs.technical_signs(question), tuple)


def test_a_year_inside_a_chinese_sentence_is_no_identifier():
    assert signs.technical_signs("杭州联络处在2024年做了什么工作？") == (0, 0)
    assert signs.technical_signs("What does sha256sum print?")[0] == 1
