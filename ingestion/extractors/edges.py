"""Trim names: drop surrounding words that a tagger included by mistake.

At the beginning of a sentence a small model takes the preceding word, or an old-fashioned verb, for
part of the name: *Whereat Scrooge*, *bade Scrooge*, *will Scrooge*. Names are cut to their own
words here, and what is not a name at all (*Section 4.7*, a path, a line of code) is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import regex

from ingestion.extractors.mentions import stands_for
from kb_project.text.languages import MONTHS
from kb_project.text.sentences import is_reference_word

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

LONGEST: Final = 7
"""Words; anything longer is a clause."""

# Small words that do begin names: van Gogh, de Gaulle, al-Masri.
_BEGINNINGS: Final = frozenset(
    "de del della der di da do dos du van von zu ter ten la le el al bin ibn abu d' o' mac".split()
)
# Words that open sentences and clauses, and are mistaken for names because of their capital.
_OPENERS: Final = frozenset(
    """
    a about above according across actually additionally after afterwards again against ago ah alas
    all almost along already also although always am among an and another any anyway apart are
    around as aside at away aye back bah be because been before behind being below beneath beside
    besides between beyond both briefly but by can cannot clearly come consequently could currently
    dear despite did do does done down due during each either else enough especially even eventually
    ever every except few finally first firstly following for formerly fortunately from further
    furthermore generally given go god good great had hallo halloa happily hardly has have having
    he hello hence her here hereby herein him his how however i if in indeed initially inside
    instead into is it its itself just last lastly lately later least less let lets like likewise
    little lo long many may maybe me meanwhile might mine more moreover most mostly much must my
    namely nay near nearly neither never nevertheless next no none nonetheless nor normally not note
    nothing now o of off often oh old on once one only onto oops or other others otherwise our out
    outside over overall own per perhaps please poor possibly presently previously probably pray
    quite quoth rather really recently regarding respectively round save second secondly see seeing
    several shall she should similarly simply since so some somehow sometimes somewhere soon still
    such suddenly sure surely than thank thanks that the thee their them then thence there
    thereafter thereby therefore therein thereupon these they this those thou though three through
    throughout thus thy till to today together tomorrow too toward towards truly twice two typically
    under unfortunately unless unlike until up upon us usually various very via was we well were
    what whatever when whence whenever where whereas whereat whereby wherefore wherein whereof
    whereupon wherever whether which whichever while whilst whither who whoever whom whose why will
    with within without would yea yes yesterday yet you young your
    """.split()
)
# Openers that also begin names: Great Britain, Will Lowe, Second Avenue.
_EITHER: Final = frozenset(
    "good great last little long may old poor second three two will young".split()
)
# Common words that begin names of two words.
_OF_NAMES: Final = _EITHER | frozenset(
    "big black blue central east eastern general grand green high holy lower middle national new"
    " north northern open red royal saint south southern united upper west western white".split()
)
_REFERENCE: Final = regex.compile(
    r"(?:chapters?|sections?|sect|sec|figures?|fig|tables?|appendix|appendices|annex|parts?|pages?|pp?"
    r"|volumes?|vol|steps?|items?|notes?|footnotes?|examples?|exercises?|acts?|scenes?|staves?|stave"
    r"|verses?|lines?|equations?|eq|listings?|slides?|lessons?|rules?|articles?|clauses?|paragraphs?)"
    r"\.?\s+(?:[\dA-Z]{1,3}(?:[.\-–]\d+)*|[ivxlcdm]+|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|first|last)\b.*",
    regex.IGNORECASE,
)
_NO_NAME: Final = regex.compile(
    r"[=<>{}|\\^~`$%@*_→»]|://|\(\)|^[-–—./+]|^\W*\d[\d\W]*$|(?:^|\s)-{1,2}\w|/\S*/|^\S*/\S*$|\.\.\.|…"
    r"|\b[\w-]+\.(?:c|h|py|js|sh|txt|conf|cfg|html?|xml|json|ya?ml|gz|bz2|xz|tar|deb|rpm|dsc|md|org|com|net)\b",
    regex.IGNORECASE,
)
_DATE: Final = regex.compile(
    rf"(?:\d{{1,2}}\s+)?(?:{'|'.join(MONTHS)})\s+(?:\d{{1,2}},?\s+)?\d{{4}}", regex.IGNORECASE
)
# What separates two or more names.
_SEVERAL: Final = regex.compile(
    r"[;•!?]|:\s|\s[+–—-]\s|,\s(?!(?:Inc|Ltd|Jr|Sr|LLC|Co)\b)|\s(?:from|to|with|by|that|is|are)\s"
)
_SHOUTED: Final = regex.compile(r"\p{Lu}{4,}(?:[\s'’.-]+\p{Lu}{2,})+")
_VERSION: Final = regex.compile(r"v?\d+(?:\.[\dx]+)+[\w.~+-]*")
# Words of prose, not part of a path, an address, an option or a name with digits.
_ENDS: Final = r"(?![\w@/\\}>=]|[.-]\w|\()"
_SMALL: Final = regex.compile(r"(?<![\w$@/\\.<{=-])\p{Ll}[\p{Ll}\p{M}]*" + _ENDS)
_CAPITAL: Final = regex.compile(r"(?<=\p{Ll},? )\p{Lu}[\p{Ll}\p{M}]+" + _ENDS)
_CODE_BEFORE: Final = regex.compile(r"[$@<{=\\~|^_][^\s]*$|[\w.]/$|-{2}$|\w[.:]$|(?<!\p{L})-$")
_CODE_AFTER: Final = regex.compile(r"[_=}>\\~|^]|[.:]\w|://|/[^\p{Lu}\s]|\(\)|-[\p{Ll}\d]*[._$]")
_OPEN: Final = regex.compile(r"[(\[“‘\"][^)\]”’\"]*$|^[^(\[“‘\"]*[)\]”]")


def common_words(text: str) -> frozenset[str]:
    """The words that a text has in lower case at least as often as capitalised.

    Capitals count only inside a sentence: at its beginning every word has one.

    >>> sorted(common_words("The Tools are tools. A ghost spoke; it was the Ghost, or a Ghost."))
    ['a', 'are', 'it', 'or', 'spoke', 'the', 'tools', 'was']
    """
    small, capital = Counter(_SMALL.findall(text)), Counter(_CAPITAL.findall(text))
    return frozenset(word for word, times in small.items() if times >= capital[word.capitalize()])


def is_within_code(text: str, start: int, end: int) -> bool:
    """Whether adjacent text makes a name part of a path, a variable, an option or an address."""
    before, after = text[max(0, start - 40) : start], text[end : end + 40]
    return _CODE_BEFORE.search(before) is not None or _CODE_AFTER.match(after) is not None


def trimmed(name: Span, common: Collection[str] = ()) -> tuple[int, int] | None:
    """Offsets of the name's own words, or None if none are left.

    ``common`` are the words that the text has in lower case: in capitals before a name they are
    labels (*NOTE*, *TIP*). A version after a name is left out.
    """
    tokens = _from_its_beginning(_before_verb(list(name)), name.label_, common)
    while tokens and (_is_behind(tokens[-1]) or _VERSION.fullmatch(tokens[-1].text)):
        tokens.pop()
    while len(tokens) > 1 and _only_repeats(tokens):
        tokens.pop(0)
    if _only_describes(tokens, common):
        tokens.pop(0)
    if not tokens or len(tokens) > LONGEST:
        return None
    return tokens[0].idx, tokens[-1].idx + len(tokens[-1])


def is_no_name(surface: str) -> bool:
    """Whether a surface is a reference, a date, a path, code, a shouted heading or half of a
    bracket.

    >>> [is_no_name(one) for one in ("Section 4.7", "May 2022", "is_DFSG(x", "STAVE ONE")]
    [True, True, True, True]
    >>> is_no_name("Debian"), is_no_name("C. S. Lewis"), is_no_name("September 11")
    (False, False, False)
    """
    return (
        _REFERENCE.fullmatch(surface) is not None
        or _DATE.fullmatch(surface) is not None
        or _NO_NAME.search(surface) is not None
        or _SEVERAL.search(surface) is not None
        or _SHOUTED.fullmatch(surface) is not None
        or _OPEN.search(surface) is not None
        or is_reference_word(surface)
    )


def _from_its_beginning(tokens: list[Token], label: str, common: Collection[str]) -> list[Token]:
    """The tokens without labels, counts and words that precede the name."""
    while tokens and _is_before(tokens[0], alone=len(tokens) == 1):
        tokens.pop(0)
    while len(tokens) > 1 and (
        _is_label(tokens[0], common) or _is_version(tokens[0]) or _counts(tokens[0], label)
    ):
        tokens.pop(0)
    return tokens


def _only_repeats(tokens: Sequence[Token]) -> bool:
    """*Mar Marley*, and *MO* before *Magnus Okafor*."""
    first, rest = tokens[0], tokens[1:]
    return rest[0].lower_.startswith(first.lower_) or stands_for(
        first.text, " ".join(token.text for token in rest)
    )


def _is_version(token: Token) -> bool:
    """*3.2*, and *8* in *Debian 8 Jessie*."""
    if _VERSION.fullmatch(token.text):
        return True
    return token.is_digit and token.i > 0 and token.doc[token.i - 1].text.istitle()


def _is_label(token: Token, common: Collection[str]) -> bool:
    """*NOTE*, *TIP*: a word in capitals that the text also has in lower case, or opening a line."""
    if len(token) < 3 or not token.text.isupper():
        return False
    opens_line = token.i == 0 or "\n" in token.doc[token.i - 1].text
    return token.lower_ in common or (opens_line and len(token) > 3)


def _only_describes(tokens: Sequence[Token], common: Collection[str]) -> bool:
    """*Previous Linux*, *Run Tux Paint*: a common word that is not part of the name."""
    first = tokens[0] if len(tokens) > 1 else None
    if first is None or first.lower_ not in common or first.lower_ in _OF_NAMES:
        return False
    if len(tokens) > 2:
        return first.tag_ in ("VB", "VBG") and not _is_inside(first)
    return first.tag_ in ("JJ", "RB", "VB", "VBG", "VBN") or not _is_inside(first)


def _counts(token: Token, label: str) -> bool:
    """*4 Golden Globes*, but not *3 Doors Down* or *45 Fathers*."""
    return not token.text[-1].isalpha() and token.like_num and label not in ("ORG", "WORK_OF_ART")


def _before_verb(tokens: list[Token]) -> list[Token]:
    """*Sam Hocevar led Debian*: a name has no verb that says what it did."""
    for place, token in enumerate(tokens):
        if place and token.text.islower() and token.tag_ in ("VBD", "VBZ", "VBP", "MD"):
            return tokens[:place]
    return tokens


def _is_before(token: Token, *, alone: bool) -> bool:
    """Whether a word precedes a name without being part of it."""
    text, lowered = token.text, token.lower_
    if not text[:1].isalnum():
        return True
    if text.islower():
        return lowered not in _BEGINNINGS or alone
    if lowered in _EITHER and not alone and _is_inside(token):
        return False
    # "US" is not "us"; "I" and "A" open sentences.
    return lowered in _OPENERS and (not text.isupper() or len(text) == 1)


def _is_inside(token: Token) -> bool:
    """Whether a word does not begin a sentence, a quotation or a list item."""
    before = token.doc[token.i - 1] if token.i else None
    return not token.is_sent_start and before is not None and before.is_alpha


def _is_behind(token: Token) -> bool:
    text = token.text
    if text in (")", "+", "#", "."):
        return text == "."
    if not text[:1].isalnum():
        return True
    return text.islower()
