"""Shapes of single services' keys: those of a public list, and those that it does not have.

Owns how a pattern of the list becomes a shape. The list itself is `service_keys`, which is
generated.
"""

from __future__ import annotations

import re

from lastword.core.redact.service_keys import ASSIGNED_VALUES, KEYS
from lastword.core.redact.shapes import REDACTED, START, Shape

MIXED = r"(?=[\w.=+/-]{0,40}\d)(?=[\w.=+/-]{0,40}[g-z])"
"""Digits, and letters that hexadecimal numbers do not have."""

MORE_KEYS = r"""
akid AKID[A-Za-z0-9]{26,}
atctt3,atbb AT(?:CTT3[\w=-]{40,}|BB[A-Za-z0-9]{28,})
bkua_,bkat_,bkct_,bkpt_,bkaj_ bk(?:ua|at|ct|pt|aj)_[a-f0-9]{32,}
ccipat_,cciprj_ CCI(?:PAT|PRJ)_[A-Za-z0-9]{16,}_[a-f0-9]{32,}
cio cio[A-Za-z0-9]{32}
csk- csk-[a-z0-9]{32,}
ctx7sk- ctx7sk-[\w-]{20,}
dckr_pat_,dckr_oat_ dckr_(?:pat|oat)_[\w-]{20,}
dp. dp\.(?:st|ct|sa|scim|audit)\.[\w.-]{32,}
figd_,figo_,figu_,figr_,figdr_,figoh_ fig(?:d|o|u|r|dr|oh)_[\w-]{20,}
hvr. hvr\.[\w-]{20,}
llx- llx-[A-Za-z0-9]{20,}
ls__ ls__[a-f0-9]{32}
lsv2_ lsv2_(?:pt|sk)_[A-Za-z0-9_]{24,}
nfp_,nfc_,nfo_,nfu_,nfb_ nf[pcoub]_[A-Za-z0-9]{24,}
pat pat[A-Za-z0-9]{14}\.[a-f0-9]{32,}
pcsk_ pcsk_[A-Za-z0-9_]{24,}
phc_,phx_ ph[cx]_[A-Za-z0-9]{32,}
s. s\.(?=[A-Za-z]{0,23}\d)(?=[A-Za-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24}(?![\w.(])
sbp_,sb_secret_ sb(?:p|_secret)_[\w-]{20,}
secret_ secret_(?=[A-Za-z0-9]{0,42}\d)(?=[A-Za-z0-9]{0,42}[A-Z])[A-Za-z0-9]{43}
sl. sl\.(?:[uB]\.?)?(?=[\w-]{0,60}\d)[\w-]{60,}
sgp_,slk_,sgd_ (?:sgp|slk|sgd)_[\w-]{32,}
sq0atp-,sq0csp- sq0(?:at|cs)p-[\w-]{20,}
tskey- tskey-[a-z]+-[\w-]{16,}
vck_,vcp_,vci_,vca_,vcr_ vc[kpiar]_[A-Za-z0-9]{24,}
"""
"""Keys as their services issue them, which the list does not have."""


def key_source(pattern: str) -> str:
    """Return the pattern for a key, up to the end of its word."""
    return rf"{START}(?:{pattern})[\w~-]*+=*+"


def assigned_source(services: tuple[str, ...], secret: str) -> str:
    """Return the pattern for a value behind the name of its service."""
    names = "|".join(map(re.escape, services))
    return (
        rf"((?:{names})[\w.-]{{0,24}}[\"']?\s{{0,2}}(?::=|[:=]|=>)\s{{0,2}}[\"']?)"
        rf"{MIXED}(?:{secret})(?!\w)"
    )


def _rows(table: str) -> list[tuple[tuple[str, ...], str]]:
    rows = (line.split(" ", 1) for line in table.split("\n") if line)
    return [(tuple(hints.split(",")), pattern) for hints, pattern in rows]


SERVICE_KEYS = tuple(
    Shape("service_key", hints, key_source(pattern)) for hints, pattern in _rows(MORE_KEYS + KEYS)
)
ASSIGNED_SHAPES = tuple(
    Shape(
        "service_key", services, assigned_source(services, secret), rf"\1{REDACTED}", re.IGNORECASE
    )
    for services, secret in _rows(ASSIGNED_VALUES)
)
