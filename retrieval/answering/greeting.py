"""Answer greetings, *thanks*, *help* and *what can you do?* by describing the workspace, without a
search. What follows a greeting is the question: *Hi! Who keeps the light?*
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import regex

from ingestion.documents import queries as document_queries
from ingestion.knowledge import queries as knowledge_queries, topics as knowledge_topics
from ingestion.models import Document
from kb_project.text.languages import HAN
from kb_project.text.words import listed
from retrieval.answering import suggestions
from retrieval.answering.drafts import Asking, Draft, Suggested, WrittenSentence
from workspaces import access

MOST_TOPICS: Final = 3
MOST_TITLES: Final = 3
LONGEST_TITLE: Final = 60
WRITTEN_BY: Final = "workspace"

_WHOM: Final = r"(?:there|all|everyone|everybody|you|again|concordance|bot|friend|team|folks)"
_HELLO: Final = (
    rf"(?:hello|hi|hiya|hey|howdy|greetings|good (?:morning|afternoon|evening|day)|hallo)"
    rf"(?:,? {_WHOM})?"
    r"|你好|您好|大家好|嗨|哈[喽啰]|早上好|下午好|晚上好|早安"
)
_THANKS: Final = (
    r"(?:(?:great|perfect|ok(?:ay)?|cool|nice),? )?(?:many )?(?:thanks|thank you)"
    r"(?: a lot| so much| very much| again)*|cheers|谢谢[你您]?|多谢|感谢"
)
_SMALL_TALK: Final = r"how are you(?: doing)?(?: today)?|how(?:'s| is) it going|what'?s up|你好吗"
_HELP: Final = (
    r"help(?: me)?(?: please)?|please help(?: me)?|(?:so )?what can (?:you|i) (?:do|ask)"
    r"(?: (?:here|for me|you|about|with (?:this|it)))*|what (?:do|can) you (?:do|know)(?: about)?"
    r"|who are you|what are you|how does this work|how do(?:es)? (?:i|you|it) work"
    r"(?: with this)?|how (?:do|can) i use (?:this|you|it)|what (?:should|could) i ask"
    r"|你(?:能|可以|会)(?:做|干)(?:些)?什么|你是谁|我?(?:能|可以)问(?:你)?(?:些)?什么"
    r"|怎么用|帮助|帮帮我"
)
_END: Final = r"[\s!.,?！。，？、~～…:;)(👋🙂😀-]*"
_IS_GREETING: Final = regex.compile(
    rf"^(?:(?:{_HELLO}|{_THANKS}|{_SMALL_TALK}|{_HELP})(?:吗|呢|啊|呀|了)?{_END})+$",
    regex.IGNORECASE,
)
_IS_THANKS: Final = regex.compile(rf"^(?:{_THANKS})", regex.IGNORECASE)
# Drop a greeting only if punctuation separates it from the rest: "Hello World prints what?"
_GREETED: Final = regex.compile(
    rf"^(?:(?:{_HELLO}|{_THANKS})\s*[!.,！。，～~]+\s*)+(?=\S)", regex.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Holding:
    """What a workspace contains; ``questions`` are examples of what can be asked."""

    documents: int
    titles: Sequence[str] = ()
    topics: Sequence[str] = ()
    questions: Sequence[str] = ()


def is_greeting(question: str) -> bool:
    """Return whether the text asks nothing of the documents.

    >>> is_greeting("Hi there!"), is_greeting("What does Hello World print?")
    (True, False)
    """
    return bool(_IS_GREETING.match(" ".join(question.split())))


def without_greeting(question: str) -> str:
    """
    >>> without_greeting("Hi! Who keeps the light?")
    'Who keeps the light?'
    >>> without_greeting("Hello, World: who wrote it?") == "World: who wrote it?"
    True
    """
    return question if is_greeting(question) else _GREETED.sub("", question)


def reply(question: str, holding: Holding) -> list[str]:
    """Return sentences about what the workspace contains, in Chinese if the question is.

    >>> reply("Thanks!", Holding(1, ["Handbook"]))[0]
    'You’re welcome.'
    """
    return (
        _in_chinese(question, holding) if HAN.search(question) else _in_english(question, holding)
    )


def _in_english(question: str, holding: Holding) -> list[str]:
    said = ["You’re welcome." if _IS_THANKS.match(question) else "Hello."]
    if not holding.documents:
        return [
            *said,
            "This workspace has no searchable documents yet. Add some, then ask.",
        ]
    noun = "document" if holding.documents == 1 else "documents"
    titles = [f"“{title}”" for title in holding.titles]
    which = f": {listed(titles)}" if len(titles) == holding.documents else ""
    if titles and not which:
        which = f", including {listed(titles)}"
    said.append(f"This workspace has {holding.documents:,} {noun}{which}.")
    if holding.topics:
        said.append(f"Their main topics are {listed(holding.topics)}.")
    ask = "Ask about anything in them. Every sentence of an answer cites its source."
    if holding.questions:
        ask = f"{ask} For example: {holding.questions[0]}"
    return [*said, ask]


def _in_chinese(question: str, holding: Holding) -> list[str]:
    said = ["不客气。" if _IS_THANKS.match(question) else "你好。"]
    if not holding.documents:
        return [*said, "这里还没有可以检索的文件，请先添加文件再提问。"]
    titles = "".join(f"《{title}》" for title in holding.titles)
    if titles:
        titles = f"：{titles}" if len(holding.titles) == holding.documents else f"，其中有{titles}"
    said.append(f"这里有{holding.documents:,}份文件{titles}。")
    if holding.topics:
        said.append(f"主要内容有：{'、'.join(holding.topics)}。")
    ask = "文件里写到的都可以问，回答的每一句话都注明出处。"
    if holding.questions:
        ask += f"例如：{holding.questions[0]}"
    return [*said, ask]


def draft(asking: Asking) -> Draft | None:
    """Draft the reply to a greeting; None if something is asked. Call outside transactions."""
    if not is_greeting(asking.question):
        return None
    holding = holding_of(asking)
    sentences = [WrittenSentence(text) for text in reply(asking.question, holding)]
    plan = {
        "question": asking.question,
        "is_rewritten": False,
        "asked_mode": asking.mode,
        "reason": "This is not a question about the documents.",
    }
    return Draft(
        is_supported=True,
        sentences=sentences,
        citations=(),
        nearest=(),
        trace={"plan": plan, "hits": 0, "notes": []},
        mode=asking.mode,
        written_by=WRITTEN_BY,
        suggest=partial(Suggested, tuple(holding.questions)),
    )


def holding_of(asking: Asking) -> Holding:
    workspace = asking.workspace
    with access.in_workspace(workspace.pk):
        documents = knowledge_queries.documents_count(workspace)
        shown = document_queries.documents(workspace=workspace).filter(
            Document.IS_LIVE, state="ready"
        )
        titles = [one.title for one in shown[: MOST_TITLES * 4] if len(one.title) <= LONGEST_TITLE]
        largest = knowledge_topics.topics_to_choose(workspace, MOST_TOPICS * 4)
        topics = [title for _, title in largest if len(title) <= LONGEST_TITLE]
        questions = suggestions.made_starters(workspace)
    if questions is None and documents:
        questions = suggestions.make_starters(workspace)
    return Holding(documents, titles[:MOST_TITLES], topics[:MOST_TOPICS], questions or ())
