"""The grammar itself: its words, and the rules by which a sentence is derived.

A sentence is derived from `SENTENCE` by replacing symbols with the right-hand sides of their rules until only words are left,
always the leftmost symbol first. The rules are written such that the next word always tells which rule was used.
"""

import functools
from collections.abc import Iterator, Sequence

# Singular, plural, pronoun.
NOUNS = {
    "being": [
        ("robot", "robots", "it"),
        ("girl", "girls", "she"),
        ("boy", "boys", "he"),
        ("owl", "owls", "it"),
        ("queen", "queens", "she"),
        ("king", "kings", "he"),
    ],
    "place": [
        ("tower", "towers", "it"),
        ("river", "rivers", "it"),
        ("island", "islands", "it"),
        ("garden", "gardens", "it"),
    ],
    "thing": [
        ("lamp", "lamps", "it"),
        ("apple", "apples", "it"),
        ("box", "boxes", "it"),
        ("umbrella", "umbrellas", "it"),
    ],
}
SIZES = ["small", "enormous"]
QUALITIES = {
    "being": ["old", "young", "angry"],
    "place": ["old", "green", "ancient"],
    "thing": ["red", "old", "empty"],
}
# Base form, third person singular, past.
VERBS = {
    "move": [("walk", "walks", "walked"), ("run", "runs", "ran")],
    "rest": [("sleep", "sleeps", "slept"), ("sing", "sings", "sang")],
    "meet": [("see", "sees", "saw"), ("find", "finds", "found")],
    "handle": [("carry", "carries", "carried"), ("paint", "paints", "painted")],
}
# How many noun phrases can stand inside each other in front of a verb: "the robots that the owl that the boy saw sees walk" has two.
DEPTH = 2
REFLEXIVES = {"he": "himself", "she": "herself", "it": "itself", "they": "themselves"}

Symbol = tuple  # its name, then its features, such as ("predicate", "past", "she", "last"); a word is a str
SENTENCE: Symbol = ("sentence",)


def _ranked(weight: float, words: Sequence) -> list[tuple[float, object]]:
    """Share a weight among words as 1 : 1/2 : 1/3 ..., so that the first of a list is the most frequent."""
    total = sum(1 / rank for rank in range(1, len(words) + 1))
    return [(weight / rank / total, word) for rank, word in enumerate(words, start=1)]


@functools.cache
def rules(symbol: Symbol) -> list[tuple[float, list[str | Symbol]]]:
    """All that can stand in a symbol's place: the grammar itself.

    Args:
        symbol: SENTENCE, or a symbol from the right-hand side of one of its rules, and so on.

    Returns:
        A pair for each rule: its probability, and the words and symbols that replace the symbol. The probabilities sum to 1.

    Raises:
        ValueError: if there is no such symbol.
    """
    weighted = _weighted_rules(symbol)
    total = sum(weight for weight, _ in weighted)
    return [(weight / total, body) for weight, body in weighted]


def _weighted_rules(symbol: Symbol) -> list[tuple[float, list[str | Symbol]]]:
    match symbol:
        case ("sentence",):
            return [
                (5, [("phrase", "being", "any tense")]),
                (3, ["yesterday", ("phrase", "being", "past")]),
                (2, ["today", ("phrase", "being", "present")]),
            ]

        # A noun phrase. With a tense it is the subject, and the rest of its clause follows the noun, whose number and kind it needs.
        case ("phrase", kind, tense):
            level = "quality" if tense is None else "size"  # only a subject can have two adjectives
            singular = _weighted_rules(("nominal", kind, "singular", level, tense))
            # "a" or "an" is a matter of the word behind it, so each is as probable as the words that call for it.
            share = sum(weight for weight, body in singular if body[0][0] in "aeiou") / sum(
                weight for weight, _ in singular
            )
            return [
                (4, ["the", ("nominal", kind, "any number", level, tense)]),
                (3 * (1 - share), ["a", ("nominal", kind, "a", level, tense)]),
                (3 * share, ["an", ("nominal", kind, "an", level, tense)]),
                (1, ["two", ("nominal", kind, "plural", level, tense)]),
                (1, ["many", ("nominal", kind, "plural", level, tense)]),
            ]
        # Adjectives and the noun: a size, a quality, the noun, each adjective or none. The level says which of these may come next.
        case ("nominal", kind, "a" | "an" as article, level, tense):
            singular = _weighted_rules(("nominal", kind, "singular", level, tense))
            return [(weight, body) for weight, body in singular if (body[0][0] in "aeiou") == (article == "an")]
        case ("nominal", kind, number, level, tense):
            result = []
            if level == "size":
                result += [(w, [word, ("nominal", kind, number, "quality", tense)]) for w, word in _ranked(1, SIZES)]
            if level != "noun":
                result += [
                    (w, [word, ("nominal", kind, number, "noun", tense)]) for w, word in _ranked(2, QUALITIES[kind])
                ]
            for weight, (singular, plural, pronoun) in _ranked(4, NOUNS[kind]):
                forms = {"singular": [(singular, pronoun)], "plural": [(plural, "they")]}
                forms["any number"] = forms["singular"] + forms["plural"]
                for noun, who in forms[number]:
                    body = (
                        [noun]
                        if tense is None
                        else [noun, ("description", tense, who, DEPTH), ("predicate", tense, who, "first")]
                    )
                    result.append((weight / len(forms[number]), body))
            return result

        # What stands between a subject and its verb, and has nouns of its own to lead a model astray.
        case ("description", tense, who, depth):
            return [
                (5, []),
                (1, ["near", ("phrase", "place", None)]),
                (1, ["behind", ("phrase", "place", None)]),
                (1, ["with", ("phrase", "thing", None)]),
                (6 if depth else 2, ["that", ("relative", tense, who, depth)]),
            ]
        # A relative clause: the noun before it is its subject ("that sees many owls"), or its object ("that the owl near a river sees").
        case ("relative", tense, who, 0):
            return [(1, [("subject relative", tense, who)])]
        case ("relative", tense, who, depth):
            return [(1, [("subject relative", tense, who)]), (2, [("object relative", tense, depth - 1)])]
        case ("subject relative", tense, who):
            return [
                (weight, [form, ("complement", kind, who)])
                for weight, kind, form, _ in _verb_forms(tense, who)
                if kind in ("meet", "handle")
            ]
        case ("object relative", tense, depth):
            return [
                (4, ["the", ("its subject", tense, "any number", depth)]),
                (1, ["two", ("its subject", tense, "plural", depth)]),
                (1, ["many", ("its subject", tense, "plural", depth)]),
            ]
        case ("its subject", tense, number, depth):
            result = []
            for weight, (singular, plural, pronoun) in _ranked(1, NOUNS["being"]):
                forms = {"plural": [(plural, "they")], "any number": [(singular, pronoun), (plural, "they")]}
                for noun, who in forms[number]:
                    body = [noun, ("description", tense, who, depth), ("its verb", tense, who)]
                    result.append((weight / len(forms[number]), body))
            return result
        case ("its verb", tense, who):
            return [(weight, [form]) for weight, kind, form, _ in _verb_forms(tense, who) if kind == "meet"]

        # The verb, what belongs to it, and how the clause ends. From the verb on, the tense is known.
        case ("predicate", tense, who, clause):
            return [
                (
                    weight,
                    [form, ("complement", kind, who), *(["."] if clause == "last" else [("ending", form_tense, who)])],
                )
                for weight, kind, form, form_tense in _verb_forms(tense, who)
            ]
        case ("complement", "move", _):
            return [(3, []), (1, ["slowly"]), (1, ["quickly"]), (2, ["to", ("phrase", "place", None)])]
        case ("complement", "rest", _):
            return [(3, []), (2, ["quietly"]), (1, ["near", ("phrase", "place", None)])]
        case ("complement", "meet", who):
            return [(4, [("phrase", "being", None)]), (1, [REFLEXIVES[who]])]
        case ("complement", "handle", _):
            return [(1, [("phrase", "thing", None)])]
        case ("ending", tense, who):
            return [
                (6, ["."]),
                (2, ["and", who, ("predicate", tense, who, "last")]),
                (1, ["but", who, ("predicate", tense, who, "last")]),
            ]
    raise ValueError(f"symbol={symbol!r}: expected a symbol of the grammar, such as {SENTENCE}")


def _verb_forms(tense: str, who: str) -> Iterator[tuple[float, str, str, str]]:
    """Weight, kind of verb, form and tense of every verb form that agrees with the subject."""
    for kind, verbs in VERBS.items():
        for weight, (base, third_person, past) in _ranked(1, verbs):
            if tense != "past":
                yield weight, kind, base if who == "they" else third_person, "present"
            if tense != "present":
                yield weight, kind, past, "past"
