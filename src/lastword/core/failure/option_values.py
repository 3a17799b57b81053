"""Values that a user writes: durations (`90s`, `5m`), limits of money (`5USD/day`), names of rungs.

Owns the units, the codes of currencies, and the names of the ladder's rungs, today's and earlier
ones (`protocol/README.md`, section "The ladder"). `lastword run` reads its options with this before
the agent is spawned, so it imports nothing.
"""

from __future__ import annotations

# --- durations ------------------------------------------------------------------------------------

DAY_SECONDS = 86_400
_UNITS = {
    "ms": 0.001,
    "s": 1,
    "m": 60,
    "min": 60,
    "h": 3600,
    "d": DAY_SECONDS,
    "w": 7 * DAY_SECONDS,
}

DURATION_EXAMPLES = "such as 30 (seconds), 90s, 5m or 1h"
"""Example durations for an error message."""


def seconds_of(text: str, unit: str = "s") -> float | None:
    """Return the seconds that a text means, or `None` if it is not a duration.

    Args:
        text: A number from 0 up, with a unit or without.
        unit: The unit of a number without one.
    """
    text = text.strip().lower()
    number = text.rstrip("mshdwin")
    factor = _UNITS.get(text[len(number) :] or unit)
    try:
        seconds = float(number) * factor if factor else -1.0
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


# --- amounts of money -----------------------------------------------------------------------------

_CODES = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD "
    "BTN BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP "
    "DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS "
    "INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL "
    "LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR "
    "NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP "
    "SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN "
    "UYI UYU UYW UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG "
)
CURRENCIES = frozenset(_CODES.split())
"""The codes of ISO 4217 (2025) that stand for money in use."""

CENT = 0.01
MIN_LIMIT = 1e-6
MAX_AMOUNT = 1e12
"""More than any session costs in any currency: such a number is a mistake."""

SCOPES = ("turn", "session", "day")


class SpendLimit:
    """A limit: so much of a currency for each turn or session, or for a day of the user's."""

    __slots__ = ("amount", "currency", "scope")

    def __init__(self, amount: float, currency: str, scope: str) -> None:
        self.amount: float = amount
        self.currency: str = currency
        self.scope: str = scope

    @property
    def text(self) -> str:
        """The limit as it is written: `5USD/session`."""
        amount = f"{self.amount:.6f}".rstrip("0").rstrip(".")
        return f"{amount}{self.currency}/{self.scope}"


def limit_of(text: str) -> SpendLimit | None:
    """Return the limit that a text means, or `None` if it is none."""
    money, has_scope, scope = text.strip().partition("/")
    scope = scope.strip().lower() if has_scope else "session"
    money = money.strip()
    digits, currency = money[:-3].strip(), money[-3:].upper()
    if currency not in CURRENCIES or scope not in SCOPES:
        return None
    whole, _, part = digits.partition(".")
    if not f"{whole}{part}".isdecimal() or not digits.isascii():
        return None
    amount = float(digits)
    return SpendLimit(amount, currency, scope) if MIN_LIMIT <= amount <= MAX_AMOUNT else None


def money(amount: float, currency: str) -> str:
    """Return an amount for a person: to the cent, or finer where it is less than a cent."""
    if amount >= CENT or not amount:
        return f"{amount:,.2f} {currency}"
    return f"{amount:.2g} {currency}" if amount >= CENT / 100 else f"less than 0.0001 {currency}"


# --- the rungs of the ladder ----------------------------------------------------------------------

RUNGS = {
    "typed": "to a client that negotiated agent_error",
    "v2": "to a client of protocol version 2; --fallback cannot force it",
    "air": "to a client that advertised JetBrains AIR's sessionFailure",
    "error": "to a client that makes noise about any update",
    "error_with_meta": "to every other client of version 1: the default",
    "result": "by configuration only: to a client that accepts the stop reason error",
    "text": "by configuration only: to a client that shows nothing but text",
}
"""The use of each rung. `core.failure.ladder` has their frames."""
