"""The words that the rules of ``assertions`` know: verbs of events, units, hedges."""

from __future__ import annotations

from typing import Final

import regex

ONCE: Final = frozenset(
    "born died founded established incorporated built completed inaugurated constructed invented"
    " discovered published released premiered abolished dissolved demolished disbanded unveiled"
    " consecrated dedicated commissioned decommissioned chartered ratified enacted created written"
    " launched opened closed formed buried executed assassinated murdered wrecked sank sunk"
    " scrapped introduced introduced registered patented adopted approved signed".split()
)
"""Verbs of what happens to a subject once."""
ACTIVE: Final = frozenset("died premiered sank opened closed launched disbanded".split())
"""Of these, verbs that need no *was*: but *opened a branch in 1990* has an object."""
REGIONAL: Final = frozenset(
    "published released premiered launched introduced opened adopted approved signed registered"
    " patented written".split()
)
"""Verbs of what may happen once in each of several places or forms."""
REPEATED: Final = frozenset(
    "elected appointed renovated repaired restored inspected visited awarded nominated attacked"
    " captured sold promoted arrested updated reviewed discussed seen checked measured cleaned used"
    " found given played held made named considered reported described quoted listed said"
    " recorded mentioned called known set based located filmed shot revised reissued reprinted"
    " rebuilt reopened re-released serviced painted tested surveyed".split()
)
"""Participles of what happens again and again, or of no event."""
PARTICIPLE: Final = regex.compile(
    r"\p{Ll}{2,}(?:ed|wn|ken|ten|lit|built|sold|held|begun|born|sunk)"
)
LABELS: Final = {"born": "date of birth", "died": "date of death"}
BY: Final = frozenset(
    "designed written directed founded composed discovered invented painted created built produced"
    " developed owned headed led chaired published".split()
)
IN: Final = frozenset("born buried headquartered based located".split())
HAVE: Final = (
    "has|had|have|contains|contained|comprises|comprised|employs|employed|seats|seated|holds|carries"
    "|covers|covered|weighs|weighed|measures|measured|costs?|stores|consists of|consisted of"
    "|operates|owns|serves|houses|requires|needs"
)
STEMS: Final[dict[str, str]] = {
    word: stem
    for stem, words in {
        "have": "has had have contains contained comprises comprised",
        "employ": "employs employed",
        "seat": "seats seated",
        "cover": "covers covered",
        "weigh": "weighs weighed",
        "measure": "measures measured is was are were",
        "cost": "cost costs",
        "consist": "consists consisted",
    }.items()
    for word in words.split()
}
TENSES: Final[dict[str, str]] = dict.fromkeys(
    "had was were contained comprised employed seated covered weighed measured".split(), "past"
)
ADVERBS: Final = (
    "also|first|originally|officially|formally|finally|only|initially|later|subsequently"
    "|publicly|actually|eventually|itself|legally|reportedly"
)
DIMENSIONS: Final = "tall|long|wide|high|deep|thick|old|heavy|diameter|length|height|width|depth"
MEASURED: Final[dict[str, str]] = {
    "tall": "height",
    "high": "height",
    "long": "length",
    "wide": "width",
    "deep": "depth",
    "thick": "thickness",
    "old": "age",
    "heavy": "weight",
    "weighs": "weight",
    "weighed": "weight",
    "costs": "cost",
    "cost": "cost",
}
"""The noun of what a verb or an adjective measures."""
UNITS: Final[dict[str, tuple[float, str]]] = {
    unit: (factor, dimension)
    for dimension, rows in {
        "length": {
            1.0: "m metre metres meter meters",
            1000.0: "km kilometre kilometres kilometer kilometers",
            0.01: "cm centimetre centimetres centimeter centimeters",
            0.001: "mm millimetre millimetres millimeter millimeters",
            0.3048: "ft foot feet",
            0.0254: "in inch inches",
            1609.344: "mi mile miles",
        },
        "mass": {
            1.0: "kg kilogram kilograms kilogramme kilogrammes",
            0.001: "g gram grams",
            1000.0: "t tonne tonnes",
            0.45359: "lb lbs pound pounds",
        },
        "area": {
            1.0: "m2 m²",
            10_000.0: "ha hectare hectares",
            1e6: "km2 km²",
            4046.86: "acre acres",
        },
        "volume": {1.0: "l litre litres liter liters"},
        "time": {
            1.0: "second seconds",
            60.0: "minute minutes",
            3600.0: "hour hours",
            86_400.0: "day days",
            604_800.0: "week weeks",
            2_629_800.0: "month months",
            31_557_600.0: "year years",
        },
        "power": {
            1.0: "W watt watts",
            1000.0: "kW kilowatt kilowatts",
            1e6: "MW megawatt megawatts",
        },
        "share": {1.0: "% percent"},
        "euros": {1.0: "€ euro euros EUR"},
        "dollars": {1.0: "$ dollar dollars USD"},
        "sterling": {1.0: "£ GBP"},
    }.items()
    for factor, words in rows.items()
    for unit in words.split()
}
PLAIN: Final = frozenset({"mass", "euros", "dollars", "sterling"})
"""Dimensions that say themselves what was measured."""
_ONES: Final = "one two three four five six seven eight nine".split()
_TEENS: Final = (
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
)
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBERS: Final[dict[str, int]] = {
    **{word: number for number, word in enumerate([*_ONES, *_TEENS], start=1) if number > 1},
    **{word: 10 * number for number, word in enumerate(_TENS, start=2)},
    **{
        f"{ten}-{one}": 10 * number + unit
        for number, ten in enumerate(_TENS, start=2)
        for unit, one in enumerate(_ONES, start=1)
    },
}
TIMES: Final = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
ROUND: Final = 100
"""Below, a number that ends in zeros is taken as exact."""
NOT_ONE: Final = frozenset(
    "member members part parts example one some many most all son daughter brother sister author"
    " result aim purpose goal reason point way kind type form cause use".split()
)
"""Nouns of which a subject has several, or that mean anything."""
UNSURE: Final = (
    r"\b(?:about|around|approximately|some|nearly|almost|over|more than|less than|fewer than|at"
    r" least|at most|up to|roughly|circa|ca\.|c\.|estimated|reportedly|allegedly|perhaps|probably"
    r"|possibly|maybe|(?-i:may)|might|could|would|should|planned|expected|scheduled|proposed"
    r"|according to|claims?|claimed|not|never|if|unless|disputed|supposedly|traditionally|legend"
    r"|believed|thought to|said to|said that|either)\b|n['’]t\b|~|≈"
)
PRONOUN: Final = regex.compile(r"[\W_]{0,3}(It|He|She)\s")
NO_NOUN: Final = (
    "of|in|on|at|by|for|from|to|with|and|or|per|until|during|as|more|other|than|times|after|before"
    "|since|within|under|over|that|which|who|is|was|are|were|its|his|her|their|the|a|an|out|off|up"
)
"""Words with which no counted noun begins or goes on."""
LIFETIME: Final = 20
"""Years by which dates of one person's birth differ at most: beyond, they are two people."""
