"""Amounts of money with their currency: how they are read, written, and limited.

Owns the codes of currencies and the written form of a limit, `5USD/day`. `lastword run` reads its
options with this before the agent is spawned, so it imports nothing.
"""

from __future__ import annotations

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
