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
2/ 2/\d{16}/\d{16}:[a-f0-9]{32}
akid AKID[A-Za-z0-9]{26,}
aq. AQ\.Ab[\w-]{30,}
as-,ak- a[ks]-(?=[A-Za-z]{0,21}\d)(?=[a-z0-9]{0,21}[A-Z])[A-Za-z0-9]{22}(?!\w)
atctt3,atbb AT(?:CTT3[\w=-]{40,}|BB[A-Za-z0-9]{28,})
bkua_,bkat_,bkct_,bkpt_,bkaj_ bk(?:ua|at|ct|pt|aj)_[a-f0-9]{32,}
ccipat_,cciprj_ CCI(?:PAT|PRJ)_[A-Za-z0-9]{16,}_[a-f0-9]{32,}
cfpat- CFPAT-[\w-]{30,}
cio cio[A-Za-z0-9]{32}
csk- csk-[a-z0-9]{32,}
ctx7sk- ctx7sk-[\w-]{20,}
dckr_pat_,dckr_oat_ dckr_(?:pat|oat)_[\w-]{20,}
depot_ depot_(?:org|project|user)_[a-f0-9]{32,}
dp. dp\.(?:st|ct|sa|scim|audit)\.[\w.-]{32,}
e2b_ e2b_[a-f0-9]{32,}
essu_ essu_[\w+/-]{30,}
figd_,figo_,figu_,figr_,figdr_,figoh_ fig(?:d|o|u|r|dr|oh)_[\w-]{20,}
flp_ flp_[A-Za-z0-9]{30,}
hvr. hvr\.[\w-]{20,}
lin_oauth_ lin_oauth_[a-f0-9]{32,}
llx- llx-[A-Za-z0-9]{20,}
ls__ ls__[a-f0-9]{32}
lsv2_ lsv2_(?:pt|sk)_[A-Za-z0-9_]{24,}
napi_ napi_[A-Za-z0-9]{40,}
nfp_,nfc_,nfo_,nfu_,nfb_ nf[pcoub]_[A-Za-z0-9]{24,}
nral [a-f0-9]{32,40}(?:FFFF)?NRAL
pat pat[A-Za-z0-9]{14}\.[a-f0-9]{32,}
pat- pat-[a-z]{2,4}\d-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}
pcsk_ pcsk_[A-Za-z0-9_]{24,}
phc_,phx_ ph[cx]_[A-Za-z0-9]{32,}
re_ re_(?=[A-Za-z_]{0,32}\d)(?=[a-z0-9_]{0,32}[A-Z])[A-Za-z0-9]{8}_[A-Za-z0-9]{24}
rnd_ rnd_[A-Za-z0-9]{28,}
s. s\.(?=[A-Za-z]{0,23}\d)(?=[A-Za-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24}(?![\w.(])
sbp_,sb_secret_ sb(?:p|_secret)_[\w-]{20,}
secret_ secret_(?=[A-Za-z0-9]{0,42}\d)(?=[A-Za-z0-9]{0,42}[A-Z])[A-Za-z0-9]{43}
sgp_,slk_,sgd_ (?:sgp|slk|sgd)_[\w-]{32,}
sl. sl\.(?:[uB]\.?)?(?=[\w-]{0,60}\d)[\w-]{60,}
snyk_ snyk_[a-z]{2,4}\.[\w-]{8}\.[\w.-]{40,}
sq0atp-,sq0csp- sq0(?:at|cs)p-[\w-]{20,}
st. st\.[a-f0-9-]{24,36}\.[a-f0-9]{32}\.[a-f0-9]{32}
tskey- tskey-[a-z]+-[\w-]{16,}
vck_,vcp_,vci_,vca_,vcr_ vc[kpiar]_[A-Za-z0-9]{24,}
wandb_v1_ wandb_v1_[\w-]{32,}
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
