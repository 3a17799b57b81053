"""Prose that matches no table, classified by two words close together: a thing and its trouble.

In `your prompt of 9000 tokens does not fit`, no sentence of the tables matches, yet "prompt" close
to "does not fit" says enough. This is the last resort before `unknown`, and before a status that
only blames the request. A text in another language is read by that language's pairs: its alphabet
names the language, and the four that share the Latin one are told apart by their commonest words.

The pairs are in `data/concepts.txt`, and in a file for each other language.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from lastword.core.classify.data import read_tables
from lastword.core.classify.text import without_advice
from lastword.core.failure.taxonomy import ErrorType

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DISTANCE_CHARS = 48
MAX_HITS = 64
_FIRST_UNSPACED = "\u1100"
"""The first letter of the alphabets that are not written in words with spaces between them."""


class Concept(msgspec.Struct, frozen=True):
    """Two sets of words that count if one of each stands close by, and nothing of `unless` does.

    Without happenings, one of the things is enough.
    """

    type: ErrorType
    things: str
    happenings: str
    unless: str


@cache
def language_pairs(name: str) -> tuple[Concept, ...]:
    """Return a language's pairs; its file is read when a failure first needs it."""
    pairs = []
    for heading, rows in read_tables(name):
        words: dict[str, list[str]] = {"": [], "+": [], "-": []}
        for row in rows:
            mark = row[0] if row[0] in "+-" else ""
            words[mark].append(row.removeprefix(mark).strip())
        pairs.append(Concept(ErrorType(heading), *map(", ".join, words.values())))
    return tuple(pairs)


CONCEPTS = language_pairs("concepts")
"""The first match wins: failures that no retry helps come before those that one may help."""


@cache
def _words(block: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in block.split(","))


@cache
def _pattern(block: str) -> re.Pattern[str]:
    """Compile on first use: few failures come this far, and all the patterns together cost 5 ms."""
    words = [re.escape(word) for word in _words(block)]
    if block.isascii():
        return re.compile(rf"\b(?:{'|'.join(words)})")
    # Chinese, Japanese and Korean put no space before a word.
    bounded = (word if word[0] >= _FIRST_UNSPACED else rf"\b{word}" for word in words)
    return re.compile("|".join(bounded))


BLAMED = frozenset({
    ErrorType.CONTEXT_OVERFLOW,
    ErrorType.CONTENT_FILTER,
    ErrorType.MODEL_NOT_FOUND,
})  # fmt: skip
"""Causes of a 400: none is retried, so a wrong guess only gives the wrong name."""

SPELLED = frozenset(concept.type for concept in CONCEPTS) - {ErrorType.AGENT_CRASH}
"""Meanings of names made of several words: `GenServer` is not a server that exited."""


def read_concept(
    folded: str,
    kinds: frozenset[ErrorType] | None = None,
    concepts: tuple[Concept, ...] = CONCEPTS,
) -> tuple[ErrorType, str] | None:
    """Return the first concept that the text holds, with the two words that show it."""
    stated = without_advice(folded)
    for concept in concepts:
        if kinds is not None and concept.type not in kinds:
            continue
        # Two words that stand close together by chance do so in advice, most of all.
        text = stated if concept.happenings else folded
        pair = _closest(text, concept)
        if pair is None:
            continue
        if not concept.unless or next(_matches(concept.unless, text), None) is None:
            return concept.type, pair
    return None


def _closest(folded: str, concept: Concept) -> str | None:
    matches = islice(_matches(concept.things, folded), MAX_HITS)
    things = [(match.start(), match.group()) for match in matches]
    if not things:
        return None
    if not concept.happenings:
        return things[0][1]
    starts = [start for start, _ in things]
    for happening in islice(_matches(concept.happenings, folded), MAX_HITS):
        at = bisect_left(starts, happening.start())
        for start, thing in things[max(0, at - 1) : at + 1]:
            before = happening.start() - start - len(thing)
            after = start - happening.end()
            if max(before, after) <= MAX_DISTANCE_CHARS:
                return f"{thing} + {happening.group()}"
    return None


def _matches(block: str, text: str) -> Iterator[re.Match[str]]:
    """Find words at a word boundary: "rate" is not in "generate".

    Most texts have none of them; finding that out takes a tenth of the time without the pattern.
    """
    if any(word in text for word in _words(block)):
        yield from _pattern(block).finditer(text)


# --- other languages than English ----------------------------------------------------------------

_ALPHABETS = (
    ("korean", r"[\uac00-\ud7af]"),
    ("japanese", r"[\u3040-\u30ff]"),
    ("chinese", r"[\u3400-\u9fff]"),
    ("russian", r"[\u0400-\u04ff]"),
)
"""Japanese has Chinese characters as well."""

_COMMON_WORDS = {
    "german": (
        r"der|das|ist|nicht|und|wurde|keine?|bitte|sie|ihre?|zu|fur|von|eine?|dem|beim|vom|zum|"
        r"konnte|werden|haben|erneut|fehler|anfragen?|modell|verbindung|sitzung|guthaben|anmeldung|"
        r"kontingent|zugriff|ungultige?|schlussel|\w+fehler|interner|raten\w+|pflicht\w+|"
        r"zeit\w+|erschopft|abgelaufen"
    ),
    "french": (
        r"le|la|les|des|du|est|une|vous|votre|pas|pour|dans|veuillez|erreur|cette|ce|[nldc]'\w+|"
        r"reessayer|trop|au|sur|requetes?|cle|solde|modele|delai|jetons?|serveur|connexion|reseau|"
        r"credits?|acces|parametre|identifiants|abonnement|reponse|invalide|"
        r"fournisseur|indisponible|introuvable|epuise"
    ),
    "spanish": (
        r"el|los|las|una|del|la|es|por|su|tu|ha|has|para|con|en|favor|se|intentelo|intenta|"
        r"demasiad[oa]s?|error de|saldo|cuota|clave|solicitud(?:es)?|servidor|conexion|sesion|"
        r"modelo|tiempo|limite|mensaje|credenciales|acceso|autenticacion|"
        r"suscripcion|encontrado|proveedor|disponible"
    ),
    "portuguese": (
        r"os|um|uma|da|dos|nao|foi|sua|seu|voce|por|para|com|em|ao|erro|na|tente|esta|muit[oa]s?|"
        r"mais|"
        r"saldo|cota|chave|solicitacao|requisicao|servidor|conexao|sessao|modelo|tempo|limite|rede|"
        r"mensagem|credenciais|acesso|autenticacao|assinatura|creditos|encontrado|indisponivel"
    ),
}


_PLAIN = str.maketrans(
    dict(
        zip(
            "\u00e0\u00e1\u00e2\u00e3\u00e4\u00e5\u00e7\u00e8\u00e9\u00ea\u00eb"
            "\u00ec\u00ed\u00ee\u00ef\u00f1\u00f2\u00f3\u00f4\u00f5\u00f6\u00f9\u00fa\u00fb\u00fc\u00fd\u00ff",
            "aaaaaaceeeeiiiinooooouuuuyy",
            strict=True,
        )
    )
    | {"\u00df": "ss", "\u0153": "oe", "\u00e6": "ae"}
)
"""The letters of these languages without their accents."""

_SAMPLE_CHARS = 1000
"""The beginning of a text, which is enough to recognise its language."""

_APOLOGY = "\u7533\u3057\u8a33\u3042\u308a\u307e\u305b\u3093"
"""Its last letters also mean that there is none of something."""

_ACCENTED = r"[\u00df-\u00f6\u00f8-\u00ff\u0153]"


def in_other_alphabet(folded: str) -> str | None:
    """Return the language of a text that is not in the Latin alphabet, if there is a table."""
    if folded.isascii():
        return None
    return next((name for name, letters in _ALPHABETS if _regex(letters).search(folded)), None)


def read_other_alphabet(
    folded: str, kinds: frozenset[ErrorType] | None = None
) -> tuple[ErrorType, str] | None:
    """Return the meaning of two words of a text in another alphabet, with the words."""
    language = in_other_alphabet(folded)
    if language is None:
        return None
    folded = folded.replace(_APOLOGY, "")
    match = read_concept(folded, kinds, language_pairs(language))
    if match is None and language == "chinese":
        language = "japanese"  # without kana, in a short text
        match = read_concept(folded, kinds, language_pairs(language))
    return _named(language, match)


def read_latin(
    folded: str, kinds: frozenset[ErrorType] | None = None, *, least: int = 1
) -> tuple[ErrorType, str] | None:
    """Return the meaning of two words of a text in the Latin alphabet, with the words.

    Args:
        folded: The text.
        kinds: The types that count, or `None` for all.
        least: How many of its common words a language must have in the text to be tried.
    """
    plain = folded if folded.isascii() else folded.translate(_PLAIN)
    accents = 1 if _regex(_ACCENTED).search(folded[:_SAMPLE_CHARS]) else 0
    counts = {
        name: len(_regex(rf"\b(?:{words})\b").findall(plain[:_SAMPLE_CHARS])) + accents
        for name, words in _COMMON_WORDS.items()
    }
    for name in sorted(counts, key=counts.__getitem__, reverse=True):
        match = read_concept(plain, kinds, language_pairs(name)) if counts[name] >= least else None
        if match is not None:
            return _named(name, match)
    return None


def _named(language: str, match: tuple[ErrorType, str] | None) -> tuple[ErrorType, str] | None:
    return match and (match[0], f"{language}: {match[1]}")


@cache
def _regex(source: str) -> re.Pattern[str]:
    """Compile on first use: most texts are English."""
    return re.compile(source)
