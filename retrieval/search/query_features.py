"""Read from a question's wording what it asks for, and how to answer it.

What an answer must contain: its telling terms, its names, its kind. And for the choice in ``auto``,
measured: a question about how parts of a program work is answered by one passage, which meaning and
words find best; one that goes from a name to what is related to it needs the walk. Pure rules for
English and Chinese, which know forms of questions and words, but no subjects or documents; other
languages get terms and names, but no kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import regex

from kb_project.text.languages import HAN
from kb_project.text.words import lazy_pattern, terms, words
from retrieval.search import answer_kinds

_WHOLE: Final = lazy_pattern(
    r"\b(?:main|major|key|central|common|recurring|overall|overarching|principal|broad)"
    r" (?:\w+ ){0,2}?(?:themes?|topics?|ideas?|subjects?|issues|messages?|takeaways|threads"
    r"|patterns|concerns|lessons|challenges|points|conclusions)\b"
    r"|^overall\b|\boverall\?|\b(?:as a whole|taken together|all in all|the big picture)\b"
    r"|\b(?:across|throughout|in|of|from|between|do|are|over) (?:all|every|each)?(?: of)? ?"
    r"(?:the|these|those|our|my|this|all|every|each) (?:\w+ )?(?:documents?|files?|sources|texts"
    r"|papers|articles|corpus|collection|archive|library|workspace|knowledge base)\b(?! say)"
    r"|\b(?:summari[sz]e|sum up|overview of|summary of|gist of) (?:it all|all|everything"
    r"|the whole|what (?:is|we have) here)\b|\bwhat (?:is|are) (?:all )?(?:this|these|the|our|my)"
    r" (?:\w+ )?(?:documents?|files|corpus|collection|archive|library|workspace) (?:all )?about\b"
    r"|(?:主要|核心|总体|整体|共同|重要)的?(?:主题|话题|议题|观点|思想|问题|内容|结论|发现|教训)"
    r"|总的来[说看]|总体上|整体上|总体而言|总结一下|概括一下"
    r"|(?:所有|全部|这些|整个|这批)(?:的)?(?:文件|文档|资料|材料|报告|文章|知识库|工作区)",
    regex.IGNORECASE,
)
_CHANGE: Final = lazy_pattern(
    r"\bhow (?:has|have|had|did|does) (?!i\b|you\b|we\b|one\b).{1,200}?\b(?:chang|evolv|develop"
    r"|shift|progress|grow|grew|fluctuat)\w*\b(?! (?:a|an|the|its|his|her|their)\b)"
    r"|\bwhat (?:has |have |had |is )?changed\b|\bover (?:time|the (?:years|decades|centuries))\b"
    r"|\b(?:evolution|development|history) of .{1,120}\b(?:over|since|between|from|through)\b"
    r"|\bfrom year to year\b|\byear (?:by|after|on) year\b|\bbefore and after\b"
    r"|变化|演变|演化|变迁|发展历程|发展过程|(?:如何|怎么|怎样)(?:改变|变)|历年|逐年",
    regex.IGNORECASE,
)
# Words about the whole, in addition to those that ask for it, and words of change.
_OF_WHOLE: Final = lazy_pattern(
    r"\b(?:overview|summary|gist|summari[sz]\w*|outline|give|list|show|tell|describe|explain|identify"
    r"|themes?|topics?|subjects?|documents?|files?|sources|texts|corpus|collection|archive|library"
    r"|workspace|knowledge base|discuss\w*|cover(?:s|ed)?|mention\w*|appear\w*|recur\w*|common"
    r"|runs?|running|across|throughout|through|over|main|all)\b|哪些|主题|话题|文件|文档|资料|讨论|涉及|总结|概括|一下",
    regex.IGNORECASE,
)
_CHANGING: Final = lazy_pattern(
    r"\b(?:chang|evolv|evolution|develop|shift|progress|fluctuat)\w*|\b(?:grow|grew|since|until"
    r"|between|over (?:time|the (?:years|decades|centuries)))\b"
    r"|变化|演变|演化|变迁|发展历程|发展过程|改变|历年|逐年",
    regex.IGNORECASE,
)
_BROAD: Final = lazy_pattern(
    r"\b(?:tell me (?:more )?about|what do (?:the|these|our|my) documents say (?:about|on)"
    r"|what (?:is|do we) know(?:n)? (?:about|of)|everything (?:about|on)|all about|describe"
    r"|introduce|summari[sz]e|sum up|(?:an? |the )?(?:overview|summary|profile|outline) of"
    r"|information (?:about|on)|background (?:on|to|of))\b"
    r"|介绍|讲讲|说说|概述|简述|说了什么|有哪些信息|总结",
    regex.IGNORECASE,
)
# The question is the name and nothing else: "Who is Ada Lind?"
_ABOUT: Final = lazy_pattern(
    r"^(?:who|what|where)(?:'s| is| are| was| were) (?:the )?(?P<rest>.+?)\??$"
    r"|^(?P<rest>.+?)是(?:谁|什么)？?$",
    regex.IGNORECASE,
)
# From one thing to another related to it, and on from there.
_LINKED: Final = lazy_pattern(
    r"\w['’]s? (?:\w+[- ]){0,2}\w+|\bthe \w+(?:[- ]\w+)? (?:of|by|in|at|for|from) (?:the |an? )?\w+"
    r".{0,80}? (?:of|by|who|that|which|whose|where)\b|\b(?:who|that|which|whose|whom) .{2,200}"
    r"\b(?:and|,) (?:who|what|when|where|which|how|why)\b|\b(?:after|by|for|with|from) (?:whom"
    r"|which|what)\b|\b(?:whose|the same|both|related to|linked to|connected|in common)\b"
    r"|\bthe \w+ (?:who|that|which|whose)\b|的.{1,12}的|谁的|之间|共同|同一|关系",
    regex.IGNORECASE,
)
_COMPARED: Final = lazy_pattern(
    r"\b(?:older|younger|earlier|later|first|last|longer|larger|bigger|smaller|taller|higher|lower"
    r"|more|less|fewer|same|both|either|differ\w*|compare[ds]?|versus|vs|than|or)\b"
    r"|更|哪[一]?个|还是|都|同一|相比|比较|区别|不同",
    regex.IGNORECASE,
)

# Two names, and nothing but the question how they are connected. What comes after the second name,
# as in "who founded Y", is another question.
_CONNECTED: Final = tuple(
    lazy_pattern(pattern, regex.IGNORECASE)
    for pattern in (
        r"how (?:is|are|was|were) (?P<a>.+?) (?:(?:connected|related|linked|tied) (?:to|with)"
        r"|in touch with) (?P<b>.+)",
        r"how (?:is|are|was|were) (?P<a>.+?) and (?P<b>.+?) (?:connected|related|linked|tied)"
        r"(?: to (?:each other|one another))?",
        r"what (?:links|connects|ties|relates) (?P<a>.+?) (?:and|to|with) (?P<b>.+)",
        r"what(?: is|'s|’s| was) the (?:connection|link|relation|relationship)s?"
        r" (?:between|of) (?P<a>.+?) (?:and|to|with) (?P<b>.+)",
        r"what (?:does|did) (?P<a>.+?) have to do with (?P<b>.+)",
        r"(?P<a>.+?)(?:和|与|跟|同)(?P<b>.+?)(?:之间)?(?:有|是|存在)(?:着)?(?:什么|何种|怎样的|哪些)"
        r"(?:样的)?(?:关系|联系|关联)",
        r"(?P<a>.+?)(?:和|与|跟|同)(?P<b>.+?)(?:之间)?(?:是)?(?:怎么|如何|怎样)"
        r"(?:联系|关联|相关|连接)(?:起来|在一起)?(?:的)?",
    )
)

# Spelled as only identifiers are.
_IDENTIFIER: Final = lazy_pattern(
    r"`[^`]+`|\w\(\)|\w::\w|\w->\w|\b_?[\p{L}\p{N}]+_[\p{L}\p{N}_]+\b|\b\p{Ll}{2,}\d*\p{Lu}\w*\b"
    r"|\b(?!Mac|Mc|Di|De|La|Le|Van|Von|Fitz|O['’])(?:\p{Lu}[\p{Ll}\d]+){2,}\b"
    r"|\b\p{Lu}{2,}\p{Lu}\p{Ll}{2,}\w*\b|\b\p{Latin}+\d+\p{Latin}\w*\b|\b\p{Ll}{2,}\d+\b"
    r"|\b[\w-]+\.(?:py|js|ts|java|rs|go|c|h|cc|cpp|hpp|cs|rb|php|json|ya?ml|toml|xml|html|css"
    r"|sql|sh|ini|cfg|conf|md|csv)\b"
)
# Terms of programming and manuals. Some have everyday meanings: a single one does not override a
# question that goes from name to name; two do.
_CRAFT: Final = lazy_pattern(
    r"\b(?:api|sdk|cli|functions?|methods?|class(?:es)?|subclass(?:es)?|structs?|enums?|traits?"
    r"|constructors?|destructors?|parameters?|arguments?|exceptions?|variables?|constants?"
    r"|instances?|instantiat\w+|initiali[sz]\w*|interfaces?|implement(?:s|ed|ation)|objects?"
    r"|modules?|packages?|templates?|pointers?|arrays?|strings?|integers?|booleans?|bits?|bytes?"
    r"|buffers?|iterators?|closures?|callbacks?|handlers?|schemas?|serializ\w+|deserializ\w+"
    r"|inherit(?:s|ed|ance)?|overrid\w+|compil\w+|runtime|debug\w*|source code|this code|the code"
    r"|codebase|unit tests?|test (?:cases?|methods?|functions?|suites?|settings)|the tests?"
    r"|configur\w+|loggers?|logging|plugins?|plug-in|endpoints?|quer(?:y|ies)|hash(?:es|ed|ing)?"
    r"|encod\w+|decod\w+|encrypt\w+|decrypt\w+|(?:in|out)put streams?|std(?:in|out|err)|null"
    r"|timestamps?|install\w*|dependenc(?:y|ies)|data types?|fields?)\b"
    r"|函数|方法|参数|接口|代码|类名|变量|配置|异常|编译|模块|字段|数组|字符串|实例化|调用",
    regex.IGNORECASE,
)


def asks_for_whole(question: str) -> bool:
    """
    >>> asks_for_whole("What are the main themes?"), asks_for_whole("What is the main gate?")
    (True, False)
    """
    return _WHOLE.search(question) is not None


def asks_for_change(question: str) -> bool:
    """
    >>> asks_for_change("How has the budget changed?"), asks_for_change("How do I change it?")
    (True, False)
    """
    return _CHANGE.search(question) is not None


def beside_whole(question: str) -> str:
    """Return what a question asks besides asking for the whole: its subject, if it has one.

    >>> beside_whole("What are the main lessons of the fire?")
    'What are the   of the fire?'
    """
    return _OF_WHOLE.sub(" ", _WHOLE.sub(" ", question)) if asks_for_whole(question) else question


def beside_change(question: str) -> str:
    """
    >>> beside_change("How has the budget changed since 2022?").split()
    ['How', 'has', 'the', 'budget', '2022?']
    """
    return _CHANGING.sub(" ", question) if asks_for_change(question) else question


def connected_ends(question: str) -> tuple[str, str] | None:
    """Return the two names of a question that asks only how they are connected.

    >>> connected_ends("How is Ada Lind connected to Old Bob?")
    ('Ada Lind', 'Old Bob')
    >>> connected_ends("沈立群和临江光学工坊有什么关系？")
    ('沈立群', '临江光学工坊')
    >>> connected_ends("What is Ada Lind's relation to the sea?")
    """
    bare = question.strip().rstrip("?？.。! ！")
    for pattern in _CONNECTED:
        if match := pattern.fullmatch(bare):
            return match["a"].strip(), match["b"].strip()
    return None


def asks_broadly(question: str) -> bool:
    """
    >>> asks_broadly("Tell me about the lens"), asks_broadly("Who cut the lens?")
    (True, False)
    """
    return _BROAD.search(question) is not None


def named_alone(question: str) -> str:
    """Return the name that a question asks about and nothing else, else ''.

    >>> named_alone("Who was Ada Lind?"), named_alone("朱元璋是谁？"), named_alone("Who fell?")
    ('Ada Lind', '朱元璋', '')
    """
    found = _ABOUT.match(question.strip())
    return found["rest"] if found else ""


def goes_on(question: str) -> bool:
    """Return whether the question goes from one thing to another related to it.

    >>> goes_on("Where did Ada Lind's father die?"), goes_on("Where did Ada Lind die?")
    (True, False)
    """
    return _LINKED.search(question) is not None


def compares(question: str) -> bool:
    """
    >>> compares("Who is older, Ada or Ben?"), compares("Who is Ada?")
    (True, False)
    """
    return _COMPARED.search(question) is not None


def technical_signs(question: str) -> tuple[int, int]:
    """Count the identifiers, and the programming terms.

    >>> technical_signs("What does `getTarget` return?"), technical_signs("Which method is used?")
    ((1, 0), (0, 1))
    """
    return len(_IDENTIFIER.findall(question)), len(_CRAFT.findall(question))


# Words that ask or place in time, which an answer need not contain.
_ASKING: Final = lazy_pattern(
    # The forms of suggested questions.
    r"\bwhat do the documents say about\b|\blinked to\b|文件里说了什么|有什么关系"
    r"|^\W*(?:please )?(?:list|enumerate|name)\b(?: (?:all|every|some)\b)?|^\W*(?:all|every)\b"
    r"|\b(?:how (?:much|many|often|far|long|old|tall|large|big|high|deep|heavy|fast)|by how much"
    r"|during|after|before|about|according to|please|pls|plz|(?:the )?names? of"
    # Words that ask or only support another: the rest of the question says what "come out" means.
    r"|(?:tell|give|show|list|name|remind) (?:me|us)|(?:is|are|was|were) there"
    r"|there (?:is|are|was|were)|c[oa]mes? (?:out|up with|about|in|with)"
    r"|(?:get|gets|got) (?:going|started|to)|(?:kinds?|sorts?|types?) of"
    r"|(?:do|does|did|can|could|should|shall|may|must|would) (?:i|we|you|one)"
    r"|(?:ha(?:ve|s|d)|need(?:s|ed)?|want(?:s|ed)?) to|used? to|at all|at least|as well|people"
    r"|this (?:year|quarter|month|week)|(?:right )?now|currently|these days)\b"
    r"|什么时候|的时候|什么|多少|为什么|名字",
    regex.IGNORECASE,
)
_CAPITALISED: Final = lazy_pattern(r"[\p{Lu}\p{Lt}]")
_DIGIT: Final = lazy_pattern(r"\p{N}")
# Chinese characters that ask and join but rarely name: a pair with one of them that no document
# contains says nothing.
_FUNCTION: Final = frozenset(
    "的了是在和与及吗呢吧啊哪谁何什么怎样几多少为因以于之其这那有被把由从到向跟就都也又还很一共个"
)


@dataclass(frozen=True, slots=True)
class QuestionFeatures:
    """``names`` are those of the ``terms`` that belong to a name or a number; ``counted`` are the
    terms of what *how many* asks for."""

    text: str
    terms: tuple[str, ...]
    names: frozenset[str]
    kind: answer_kinds.Kind
    counted: frozenset[str] = frozenset()


def read(question: str) -> QuestionFeatures:
    """
    >>> sought = read("When was Old Bob found?")
    >>> sought.terms, sorted(sought.names), sought.kind.value
    (('old', 'bob', 'found'), ['bob', 'old'], 'date')
    """
    subject = _ASKING.sub(" ", beside_change(beside_whole(question)))
    return QuestionFeatures(
        text=question,
        terms=tuple(dict.fromkeys(terms(subject))),
        names=frozenset(_names(question)),
        kind=answer_kinds.kind_of(question),
        counted=frozenset(answer_kinds.counted_in(question)),
    )


def is_filler(term: str) -> bool:
    """Return whether a pair of Chinese characters probably straddles words.

    >>> is_filler("璋的"), is_filler("父亲"), is_filler("father")
    (True, False, False)
    """
    return HAN.search(term) is not None and not _FUNCTION.isdisjoint(term)


def _names(question: str) -> set[str]:
    """Return terms of words capitalised mid-sentence, or containing a digit."""
    found: set[str] = set()
    first = True
    for word in words(question):
        surface = question[word.start : word.end]
        if _DIGIT.search(surface) or (not first and _CAPITALISED.match(surface)):
            found.update(terms(surface))
        first = False
    return found
