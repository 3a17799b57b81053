"""Shapes of secrets, credentials and people's names, as patterns.

Owns what gives a secret away: its own form, the name before it, or the command around it; and how a
pattern of the public list of services' keys (`service_keys`, which is generated) becomes a shape.
Every pattern is linear in the text's length: each repetition is bounded, or ends where the next
possible match begins.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec

from lastword.core.redact.service_keys import ASSIGNED_VALUES, KEYS

REDACTED = "(redacted)"


class Shape(msgspec.Struct, frozen=True):
    """The shape of a secret, with the name under which it is counted.

    `hints` are lower-case strings; the secret cannot occur without at least one of them.
    """

    name: str
    hints: tuple[str, ...]
    source: str
    replacement: str = REDACTED
    flags: int = 0

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled on first use, since few patterns occur in one text."""
        return _compiled(self.source, self.flags)


_compiled = cache(re.compile)


def _shape(
    name: str, hints: str, pattern: str, replacement: str = REDACTED, *, flags: int = 0
) -> Shape:
    return Shape(name, tuple(hints.split()), pattern, replacement, flags)


START = (
    r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})"
    r"|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\d{3}m))"
)
"""The place where a key may begin: not within a word, but after an escape or a colour code."""

_QUOTE = r"[\"'\\]{0,4}"
SEPARATOR = rf"{_QUOTE}\s{{0,2}}(?::=|[:=]|=>|%3D)\s{{0,2}}{_QUOTE}"
_DIGIT_SOON = r"(?=[\w.-]{0,48}\d)"
NEW = r"(?!\(redacted\))"
_BETWEEN_ARGUMENTS = r"(?:[\"',\s\\]{1,6}|=)"


def value_of(least: int, bare: str) -> str:
    """Return the pattern of a value of this many characters, up to its closing quote, if any.

    Args:
        least: The fewest characters.
        bare: A character of a value without quotes.
    """
    return (
        rf"(?:(?<=\\\")(?!\s)(?:[^\"\\\r\n]|\\(?![\"\\])){{{least},}}+"
        rf"|(?<!\\\")(?<=\")(?!\s)(?:[^\"\\\r\n]|\\[^\r\n]){{{least},}}+"
        rf"|(?<=')(?!\s)(?:[^'\\\r\n]|\\[^\r\n]){{{least},}}+|{bare}{{{least},}})"
    )


CREDENTIAL_NAME = (
    r"[\w.-]{0,64}?(?:api[-_ ]?key|access[-_]?token|refresh[-_]?token|id[-_]?token"
    r"|auth[-_]?token|bearer[-_]?token|session[-_]?token|client[-_]?secret|secret[-_]?access[-_]?key"
    r"|(?:shared[-_]?)?access[-_]?key(?:[-_]?id)?|account[-_]?key|secret[-_]?key"
    r"|private[-_]?key|subscription[-_]?key"
    r"|security[-_]?token|password|passwd|passphrase|secret|connection[-_]?string)"
)

VARIABLE = (
    r"[A-Z][A-Z0-9_]{0,64}?(?:TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|KEY|CREDENTIALS?|CREDS|PAT|AUTH"
    r"|DSN)(?:_ID)?"
)
"""The name of a variable with a secret."""

_BASE64 = "[A-Za-z0-9+/=]"
_LINE_END = r"(?:\s|\\{1,8}[nrt])"

CARRIERS = (
    # A PEM or PGP block, even if its end was cut off.
    _shape(
        "private_key",
        "private",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]|-(?!----)){0,8192}?-----END [A-Z0-9 ]{0,40}-----|[A-Za-z0-9+/=\s\\:,.()]*+)",
    ),
    # The lines of such a block whose beginning was cut off.
    _shape(
        "private_key",
        "-----end",
        # Line ends may be escaped, and lines indented. Prose before them has shorter words than a
        # line, of which only the last two, with a checksum, may be short.
        rf"(?:(?<![\w+/=\\])|(?<=\\[nrt]))(?:(?:{_BASE64}{{16,8192}}+{_LINE_END}{{1,64}}+){{1,2048}}+"
        rf"(?:{_BASE64}{{1,8192}}+{_LINE_END}{{0,64}}+){{0,2}}|{_BASE64}{{16,8192}}+"
        rf"|[A-Za-z0-9+/]{{1,80}}+={{1,2}}{_LINE_END}{{0,64}}+)?"
        r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
    ),
    # GitHub Copilot's token: what it may do, and a signature.
    _shape(
        "token",
        "tid=",
        r"\btid=[\w-]{8,}(?:;[\w.-]{1,32}=[^\s;\"'<>\\&]{0,256}){1,48};?",
    ),
    # A JSON Web Token.
    _shape("jwt", "eyj", rf"{START}eyJ[\w-]{{8,}}(?:\.[\w-]*){{1,4}}"),
    # scheme://user:password@host, and a token in the user's place
    _shape("url_credentials", "://", r"(?<=://)[^\s/\"'<>]{1,256}@", f"{REDACTED}@"),
    # "Authorization": any value
    _shape(
        "authorization",
        "authorization",
        r"\b(authorization[\"'\\]{1,4}\s{0,2}[:=,]\s{0,2}[\"'\\]{1,4})(?!\()"
        + value_of(4, r"[^\"'\\\r\n]"),
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # Authorization: SCHEME VALUE
    _shape(
        "authorization",
        "authorization",
        rf"\b(authorization{_QUOTE}\s{{0,2}}[:=,]\s{{0,2}}{_QUOTE})"
        r"(?:(?:bearer|basic|digest|token|negotiate|apikey|aws4-hmac-sha256)\s{1,3})?"
        r"(?!\()[^\s\"',;}\\]{4,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # a scheme on its own; "basic authentication" is not a credential
    _shape(
        "authorization",
        "bearer basic",
        r"(?:\b|(?<=%20))(bearer|basic)(\s{1,3}|%20)(?=[\w.~+/-]{0,40}[0-9=+/._~]|[A-Za-z]{24})[\w.~+/=-]{8,}",
        rf"\1\2{REDACTED}",
        flags=re.IGNORECASE,
    ),
    _shape(
        "cookie",
        "cookie",
        rf"\b(cookie{_QUOTE}\s{{0,2}}:\s{{0,2}}{_QUOTE})(?=[^\s\"']{{0,80}}=)[^\r\n\"']{{4,}}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # --api-key VALUE
    _shape(
        "option",
        "key token secret auth -pat cred",
        r"(?<![\w-])(--?(?:[a-z]{1,16}[-_]){0,3}(?:[a-z]{1,24}(?=(?-i:[A-Z])))?(?:api[-_]?key|key|token|secret|auth|pat|credentials?"
        r"|creds)[\"']?[= ,]{1,2}[\"']?)(?![-(])[^\s\"',]{6,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    _shape(
        "option",
        "-pass -pwd",
        r"(?<![\w-])(--(?:[a-z]{1,16}-){0,3}(?:password|passwd|passphrase|pass|pwd)"
        rf"{_BETWEEN_ARGUMENTS}[\"']?)(?![-(])" + value_of(3, r"[^\s\"',]"),
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # curl -u user:password, and the same within other options: -sSu user:password
    _shape(
        "option",
        "curl",
        rf"(\bcurl\b(?:(?!\bcurl\b)[^|]){{0,600}}?[\"'\s]"
        rf"(?:-[a-zA-Z#]{{0,8}}?[uU]{_BETWEEN_ARGUMENTS}?|--(?:proxy-)?user{_BETWEEN_ARGUMENTS})"
        rf"[\"'\\]{{0,2}}){NEW}"
        r"(?:(?<=\")[^\":\r\n\\]{0,128}:[^\"\r\n\\]+|(?<=')[^':\r\n\\]{0,128}:[^'\r\n\\]+"
        r"|[^\s:\"'/\\]{0,128}:[^\s\"'\\]+)",
        rf"\1{REDACTED}",
    ),
    # mysql -pPASSWORD, 7z -pPASSWORD: without a blank
    _shape(
        "option",
        "mysql mariadb 7z",
        r"(\b(?:mysql|mariadb|7za?)(?:[-_]?[a-z]{2,12})?\b(?:(?!\b(?:mysql|mariadb|7z))[^|\r\n]){0,400}?"
        rf"[\"'\s][\"']?-p){NEW}(?:\"[^\"\r\n]+\"|'[^'\r\n]+'|[^\s\"'\\,\-][^\s\"'\\,]*)",
        rf"\1{REDACTED}",
    ),
    # Commands whose option of one letter is a password.
    _shape(
        "option",
        "sshpass mongo login twine redis-cli ldap zip sqlcmd",
        r"(\b(?:(?:sshpass|mongo[a-z]{0,7}|(?:docker|podman|helm\s+registry|az)\s+login|twine\s+upload)\b"
        r"(?:(?!\b(?:sshpass|mongo|docker|podman|helm))[^|\r\n]){0,200}?[\"'\s]-p"
        r"|redis-cli\b(?:(?!\bredis-cli)[^|\r\n]){0,200}?\s-a"
        r"|ldap[a-z]{3,8}\b(?:(?!\bldap)[^|\r\n]){0,200}?\s-w"
        r"|(?:zip|sqlcmd)\b(?:(?!\b(?:zip|sqlcmd))[^|\r\n]){0,200}?\s-P)"
        rf"[\"',\s]{{0,4}}){NEW}(?:(?<=\")[^\"\r\n]+|(?<=')[^'\r\n]+|[^\s\"'\\,\-][^\s\"',]*)",
        rf"\1{REDACTED}",
    ),
    # .netrc: login NAME password VALUE
    _shape(
        "option",
        "password",
        rf"(\b(?:login|account)\s{{1,8}}\S{{1,128}}\s{{1,8}}password\s{{1,8}}){NEW}\S{{3,}}",
        rf"\1{REDACTED}",
    ),
    # ENV NAME VALUE, setx NAME VALUE, set -gx NAME VALUE, and what PowerShell has for it
    _shape(
        "named_secret",
        "env setx set",
        r"((?<![\w-])(?i:ENV|setx|set(?:\s{1,2}-[a-z-]{1,12}){1,3}|setenv"
        r"|set-item\s{1,2}(?:-path\s{1,2})?env:|setenvironmentvariable\()\s{0,4}[\"'\\]{0,4}"
        rf"{VARIABLE}[\"'\\]{{0,4}}(?:\s{{1,4}}|,\s{{0,2}})(?:-Value\s{{1,2}})?[\"'\\]{{0,4}}){NEW}"
        r"(?![/~$=-])[^\s\"',\\]{4,}",
        rf"\1{REDACTED}",
    ),
    _shape(
        "named_secret",
        "securestring",
        r"(\bConvertTo-SecureString\s{1,2}(?:-String\s{1,2})?[\"'\\]{1,4})(?!\()[^\"'\\\r\n]{3,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # - name: NAME, and its value in the next line, as Kubernetes has them
    _shape(
        "named_secret",
        "value:",
        rf"(\bname:[ \t]{{0,4}}[\"']?{VARIABLE}[\"']?[ \t]{{0,4}}"
        rf"(?:\r?\n|(?:\\{{1,4}}r)?\\{{1,4}}n)[ \t]{{0,32}}value:[ \t]{{0,4}}[\"'\\]{{0,4}})"
        rf"{NEW}[^\s\"'\\]{{3,}}",
        rf"\1{REDACTED}",
    ),
    # kubeconfig, Docker's and npm's files: base64 behind a name
    _shape(
        "named_secret",
        "client-key-data auth",
        r"((?:\bclient-key-data:\s{0,2}|[\"']auth[\"'\\]{1,4}\s{0,2}:\s{0,2}|(?<!\w)_auth\s{0,2}=\s{0,2})"
        r"[\"'\\]{0,4})[A-Za-z0-9+/]{8,}={0,2}",
        rf"\1{REDACTED}",
    ),
    # scheme%3A%2F%2Fuser%3Apassword%40host
    _shape(
        "url_credentials",
        "%3a%2f%2f",
        r"(%3A%2F%2F)[\w.~+-]{0,128}(?:%3A|:)[^\s&%]{1,128}(?:%(?!40|2F)[^\s&%]{1,128}){0,16}%40",
        rf"\1{REDACTED}%40",
        flags=re.IGNORECASE,
    ),
    # ("x-api-key", "VALUE"), as lists of headers are written
    _shape(
        "named_secret",
        "api-key apikey",
        r"([\"'][\w-]{0,24}api-?key[\"']\s{0,2}[,:]\s{0,2}(?:\[\s{0,2})?b?[\"'])(?!\()[^\"'\s]{6,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # <add key="Password" value="VALUE"/>
    _shape(
        "named_secret",
        "value=",
        r"(\bkey=[\"'\\]{1,4}[\w.:-]{0,64}?(?:password|api[-_]?key|secret|token|connectionstring)[\"'\\]{1,4}"
        r"\s{1,4}value=[\"'\\]{1,4})(?!\()[^\"'\\\r\n]{3,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # npm config set NAME VALUE, aws configure set NAME VALUE
    _shape(
        "named_secret",
        "config",
        r"(\bconfig(?:ure)?\s{1,2}set\s{1,2}[^\s=]{0,128}?(?:_authToken|_password|_auth|access_key"
        rf"|_token|password|api_key)[\s=]{{1,2}}[\"']?){NEW}[^\s\"']{{6,}}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # API key provided: VALUE; token "VALUE" expired; password VALUE rejected
    _shape(
        "named_secret",
        "key token password secret",
        r"\b((?i:api[ _-]?key|access key|token|password|secret)(?: (?:provided|is|was))?:? ?"
        r"[\"'`]?)(?<=[ \"'`])"
        r"(?=[A-Za-z~+=-]{0,64}\d)(?=[a-z\d~+=-]{0,64}[A-Z])(?=[A-Z\d~+=-]{0,64}[a-z])"
        r"[\w~+=-]{12,}(?!\w|[./(]\w)",
        rf"\1{REDACTED}",
    ),
)
"""Shapes that contain a secret of any form; removed before `named_values` splits names."""

SHAPES = (
    # token: value, but not a parser's "unexpected token: end-of-file"
    _shape(
        "named_secret",
        "token",
        rf"(?<!nexpected )\b(token{SEPARATOR})(?!self\.|this\.|[a-z]+_[a-z_]+\()"
        rf"(?=[\w.~+/=-]{{0,64}}[\d_.~+/=-])[\w.~+/=-]{{8,}}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # {"name": "NPM_TOKEN", "value": "..."}, as ACP and MCP write variables and headers
    _shape(
        "named_secret",
        "value",
        rf"({_QUOTE}name{_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE}(?<=[\"'])[\w.-]{{0,64}}?"
        r"(?:token|secret|passw(?:or)?d|passphrase|key|credentials?|creds|pass|pwd|pat|auth"
        rf"|authorization|cookie|dsn){_QUOTE}\s{{0,4}},\s{{0,4}}{_QUOTE}value{_QUOTE}\s{{0,4}}:"
        rf"\s{{0,4}}{_QUOTE}(?<=[\"'])){NEW}[^\"'\\\r\n]{{3,}}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # <password>value</password>
    _shape(
        "named_secret",
        "</",
        rf"(<(?:{CREDENTIAL_NAME}|token)(?:\s[^<>]{{0,128}})?>)(?!\()[^<>]{{3,}}(?=</)",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # The last part of a webhook's address is all that is needed to write to it.
    _shape(
        "webhook",
        "hooks.slack.com",
        r"\b(hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/-]{8,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    _shape(
        "webhook",
        "/webhooks/",
        r"\b(discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/)\d{5,}/[\w-]{8,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # Microsoft Teams
    _shape(
        "webhook",
        "webhook.office.com webhookb2/",
        r"((?:webhook\.office\.com|outlook\.office(?:365)?\.com)/webhookb?2?/)[\w@/.-]{8,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # ?key=value in a URL
    _shape(
        "url_parameter",
        "=",
        r"([?&;](?:key|token|sig|signature|auth|code|pwd|pass|session|sid|jwt|x-[a-z]{2,5}-"
        r"(?:signature|credential|security-token))=)(?!\()[^&\s\"'#<>\\]{3,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    _shape(
        "url_parameter",
        "key= token= sig=",
        r"\b((?:key|token|sig)=)(?=[\w.~+/%-]{0,48}\d)[\w.~+/%=-]{12,}",
        rf"\1{REDACTED}",
        flags=re.IGNORECASE,
    ),
    # Keys by their prefix.
    _shape(
        "api_key",
        "sk- pk- rk- ek- sk_ pk_ rk_",
        rf"{START}c?[sprek]k[-_](?!\.){_DIGIT_SOON}[\w-]{{8,}}|{START}sk-[\w-]{{20,}}",
    ),
    _shape("token", "xox xapp", rf"{START}(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{{8,}}"),
    # Telegram
    _shape("token", ":aa %3aaa", rf"(?:{START}|(?<=(?i:bot)))\d{{8,10}}(?i::|%3A)AA[\w-]{{30,}}"),
    # Discord: the account's number in base64, a time, a signature.
    _shape(
        "token",
        ".",
        r"[MNO](?:(?<![A-Za-z0-9_-].)|(?<=\\[nrt].)|(?<=%[0-9A-Fa-f]{2}.)|(?<=\[\dm.)"
        r"|(?<=[\[;]\d\dm.))[A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}",
    ),
    # Accounts, people, and addresses.
    _shape(
        "account",
        "org- org_ proj acct user- user_ team- team_ workspace",
        rf"{START}(?:org|proj|acct|user|team|workspace)[-_]{_DIGIT_SOON}[A-Za-z0-9]{{10,}}",
    ),
    _shape(
        "email",
        "@",
        r"(?<![\w.+-])(?!git@[\w.-]+:)[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}\b",
    ),
    # /home/NAME, and where others mount it: /var/home, /export/home, /mnt/c/Users
    _shape(
        "home_directory",
        "/home/ /users/",
        r"(?:(?<![\w./])|(?<=file://))(?:/(?:var|export|usr|data|nfs|net|mnt|media|host_mnt|Volumes"
        r"|System/Volumes/Data))?(?:/[A-Za-z])?/(?:home|Users)/[^/\s\"'`:;,)\]}>]{1,64}",
        "~",
    ),
    _shape(
        "home_directory",
        "/root",
        r"(?:(?<![\w./])|(?<=file://)|(?<=/var)(?<![\w.]/var))(?:/var)?/root(?=/)",
        "~",
    ),
    _shape(
        "home_directory",
        "users",
        r"\b[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/)[^\\/\s\"':;,)]{1,64}",
        "~",
        flags=re.IGNORECASE,
    ),
)

KEY_SHAPES = (
    _shape("api_key", "aiza ya29 gocspx 1//0", rf"{START}(?:AIza|ya29\.|GOCSPX-|1//0)[\w-]{{16,}}"),
    _shape(
        "api_key",
        "akia asia aroa aida abia acca",
        rf"{START}(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{{12,}}\b",
    ),
    _shape("private_key", "age-secret-key-", rf"{START}AGE-SECRET-KEY-1[A-Z0-9]{{20,}}"),
    _shape("token", "gh github_pat_", rf"{START}(?:gh[opsur]_[A-Za-z0-9]|github_pat_\w)\w{{11,}}"),
    _shape(
        "token", "gl", rf"{START}gl(?:pat|dt|rt|cbt|ptt|oas|soat|ft|agent|imt|ffct)-[\w.-]{{12,}}"
    ),
    # Some are issued without a digit: this many letters are not a word.
    _shape(
        "api_key",
        "hf_ gsk_ r8_ npm_ xai- nvapi- pplx- fw_ tgp_v1_ shpat_ sntrys_ lin_api_ dapi ntn_ whsec_"
        " pypi- jina_ tvly- absk bedrock-api-key- key- pa- api_org_ fal- fc-",
        rf"{START}(?:(?:hf|gsk|r8|npm|fw|tgp_v1|shpat|sntrys|lin_api|ntn|whsec|jina|api_org|secret)_"
        r"|(?:xai|nvapi|pplx|pypi|tvly|bedrock-api-key|key|pa|fal|fc)-|ABSK|dapi)"
        rf"(?:{_DIGIT_SOON}(?=[\w-]{{0,24}}?(?=[A-Za-z]*\d)[A-Za-z0-9]{{12}})[\w-]{{20,}}|[A-Za-z0-9]{{24,}}[\w-]*)",
    ),
    _shape("token", "sg.", rf"{START}SG\.[\w-]{{16,}}\.[\w-]{{16,}}"),
)
"""Keys of at least `MIN_KEY_CHARS`, by their beginning."""

MIN_KEY_CHARS = 16


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
    """Return the pattern for a value that follows the name of its service."""
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
