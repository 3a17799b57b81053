"""Languages other than English: which one a text is in, and its pairs of words.

A language's table has the form of `concepts` and is used as late: whole sentences of providers are
in `messages.languages`. The alphabet names the language; the four that share the Latin one are told
apart by their commonest words.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from lastword.core.classify.concepts import Concept, read_concept

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import ErrorType

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
"""The beginning of a text, which is enough to know its language."""

_APOLOGY = "\u7533\u3057\u8a33\u3042\u308a\u307e\u305b\u3093"
"""Its last letters also mean that there is none of something."""

_ACCENTED = r"[\u00df-\u00f6\u00f8-\u00ff\u0153]"


def in_other_alphabet(folded: str) -> str | None:
    """Return the language of a text that is not in the Latin alphabet, if there is a table."""
    if folded.isascii():
        return None
    return next((name for name, letters in _ALPHABETS if _pattern(letters).search(folded)), None)


def read_other_alphabet(
    folded: str, kinds: frozenset[ErrorType] | None = None
) -> tuple[ErrorType, str] | None:
    """Return what two words of a text in another alphabet mean together, with the words."""
    language = in_other_alphabet(folded)
    if language is None:
        return None
    folded = folded.replace(_APOLOGY, "")
    match = read_concept(folded, kinds, _concepts(language))
    if match is None and language == "chinese":
        language = "japanese"  # without kana, in a short text
        match = read_concept(folded, kinds, _concepts(language))
    return _named(language, match)


def read_latin(
    folded: str, kinds: frozenset[ErrorType] | None = None, *, least: int = 1
) -> tuple[ErrorType, str] | None:
    """Return the same for a text in the Latin alphabet.

    Args:
        folded: The text.
        kinds: The types that count, or `None` for all.
        least: How many of its common words a language must have in the text to be tried.
    """
    plain = _without_accents(folded)
    accents = 1 if _pattern(_ACCENTED).search(folded[:_SAMPLE_CHARS]) else 0
    counts = {
        name: len(_pattern(rf"\b(?:{words})\b").findall(plain[:_SAMPLE_CHARS])) + accents
        for name, words in _COMMON_WORDS.items()
    }
    for name in sorted(counts, key=counts.__getitem__, reverse=True):
        match = read_concept(plain, kinds, _concepts(name)) if counts[name] >= least else None
        if match is not None:
            return _named(name, match)
    return None


def _named(language: str, match: tuple[ErrorType, str] | None) -> tuple[ErrorType, str] | None:
    return match and (match[0], f"{language}: {match[1]}")


def _without_accents(text: str) -> str:
    return text if text.isascii() else text.translate(_PLAIN)


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """Compile on first use: most texts are English."""
    return re.compile(source)


@cache
def _concepts(language: str) -> tuple[Concept, ...]:
    """Return a language's table; it is imported when a failure first needs it."""
    module = import_module(f"{__name__}.{language}")
    return cast("tuple[Concept, ...]", module.CONCEPTS)
