"""Passwords, keys and tokens in texts: found by the shape of their values, and replaced by what they are.

A value counts if nothing else looks like it: a token with the prefix of its service, a private key, the
password in a URL, a value that an environment file gives to a name like `API_KEY`, or one that looks random
near such a name or where a command takes a password. Random looks alone do not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import chain

_NEEDED = re.compile(
    r"\S{16}|PRIVATE KEY|pass|pw|kennwort|contrase|clave|senha|пароль|密码|パスワード|비밀번호", re.IGNORECASE
)
"""What a text with a secret has. Most texts end here."""

_SERVICES = (
    "aws", "azure_storage_key", "discord", "gitlab_token", "mailchimp", "pypi_token", "sendgrid", "slack",
    "square_oauth", "telegram_token",
)  # fmt: skip
"""Modules of detect-secrets that know a value by its shape and read a long text once.

The others look at names or at randomness, or begin again at each of its characters.
"""

_MORE = {
    "JSON Web Token": (
        r"(?:(?<![\w-])|(?<=\\[nrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=[%=][0-9A-F]{2}))"
        r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]*)?"
    ),
    "GitHub Token": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{50,}",
    "Anthropic Key": r"sk-ant-[\w-]{24,}",
    "OpenAI Key": r"sk-(?:proj|svcacct|admin|or-v1)-[\w-]{32,}|sk-[A-Za-z0-9]{32,48}",
    "Google Key": r"AIza[\w-]{35}|GOCSPX-[\w-]{28}|ya29\.[\w-]{30,}",
    "Hugging Face Token": r"hf_[A-Za-z]{34}",
    "npm Token": r"npm_[A-Za-z0-9]{36}|_authToken=([\w-]{20,})",
    "Stripe Key": r"[rs]k_(?:live|test)_[A-Za-z0-9]{24,}|whsec_[A-Za-z0-9+/]{32,}=*",
    "Slack Token": r"xapp-\d-[A-Z0-9]+-\d+-[a-f0-9]{32,}|xoxe(?:\.xox[bp])?-\d-[A-Za-z0-9]{40,}",
    "DigitalOcean Token": r"do[opr]_v1_[a-f0-9]{64}",
    "Shopify Token": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    "Linear Key": r"lin_api_[A-Za-z0-9]{40}",
    "Databricks Token": r"dapi[a-f0-9]{32}(?:-\d)?",
    "Groq Key": r"gsk_[A-Za-z0-9]{52}",
    "Replicate Token": r"r8_[A-Za-z0-9]{37}",
    "Vault Token": r"hv[sb]\.[\w-]{90,}",
    "Tailscale Key": r"tskey-[a-z]+-[A-Za-z0-9]{10,}-[A-Za-z0-9]{20,}",
    "Webhook": r"discord(?:app)?\.com/api/webhooks/\d+/([\w-]{60,})",
    "age Key": r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
    "API Token": (
        r"(?:dckr_pat_|pul-|nvapi-|xai-|pplx-|glsa_|sntry[su]_|sbp_|figd_|PMAK-|NRAK-|ATATT3|fm[12]_)[\w+/=-]{24,}"
    ),
}
"""What detect-secrets does not know, knows in an older form, or finds only the beginning of."""

_PRIVATE_KEY = re.compile(
    r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----.*?(?:-----END \1-----|\Z)"
    # The end of one, in a text that was cut.
    r"|^(?:[ \t>]*[A-Za-z0-9+/=]+\r?\n){1,120}+[ \t>]*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
    re.DOTALL | re.MULTILINE,
)
_URL_PASSWORD = re.compile(
    r"(?a:\b)[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"`<>]{0,100}:([^\s:/@'\"`]{4,200})@(?!localhost\b|127\.|example\.)"
)
_VARIABLE = re.compile(
    r"^[ \t]*(?:export )?(?:[A-Z][A-Z0-9_]{0,60}?_)?(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|[A-Z]+_KEY)"
    r"[A-Z0-9_]{0,20} ?= ?(['\"]?)([A-Za-z0-9+/_.~!@#%^&*=-]{12,200})\1\r?$",
    re.MULTILINE,
)
_NAMED = re.compile(
    r"(?P<password>pass(?:word|wd|phrase|code|wort)|pwd|kennwort|contraseña|senha|mot de passe|пароль|密码"
    r"|パスワード|비밀번호|\b(?:clave|pw|sshpass)\b|\bpass[:=]? ?['\"`]?\Z)"
    r"|token(?!iz)|secret|credential|dockerconfigjson|(?:[?&](?:key|sig|code)|\bauth|(?-i:_KEY)|--key)(?==)"
    r"|\bauthorization\b|\bbearer\b"
    r"|(?:api|access|account|auth|private|secret|shared|signing)[ _-]?(?:access[ _-]?)?key",
    re.IGNORECASE,
)
"""Names of secrets: what looks random soon after one is its value; of `pass`, what follows directly."""

_NEAR = 48  # characters between a name and its value
_NAME = 24  # of the longest name
_VALUE = re.compile(
    r"(?<![A-Za-z0-9_])(?=[!-~])(?=[^\s'\"`“”„,;<>(){}\[\]&\\=:]{0,99}[0-9])"
    r"[^\s'\"`“”„,;<>(){}\[\]&\\=:]{8,4000}+={0,2}(?!\()"
)
_PLACED = re.compile(
    r"(?:(?<=\s-u)|--user)[ =]['\"]?[\w.@%-]{1,60}:(?P<user>[^\s'\"]{8,200})"
    r"|\b(?:(?:mysql|mariadb)\w*\b[^\n|;]{0,80} -p|redis-cli\b[^\n|;]{0,80} -a )"
    r"(?P<option>[^\s'\"-][^\s'\"]{7,100})"
    r"|(?<!\S)[\w.*-]{1,100}:(?:\d{1,5}|\*):[\w*-]{1,63}:[\w*-]{1,63}:(?P<line>\S{8,200})(?!\S)"
    r"|://(?P<url>[A-Za-z0-9_-]{20,200})@",
    re.IGNORECASE | re.MULTILINE,
)
"""Places of passwords without a name."""

_SAID = re.compile(
    r"(?:(?:password|pass(?:phrase|code|wort)|kennwort|contraseña|senha|mot de passe|\bclave)"
    r"(?: (?:for|of|to|on|für|von|vom|zum|der|des|del|de|do|da|du) [^\n.:;,=]{1,40}?)?"
    r"(?: ?:| (?:is|was|now|will be|to|ist|war|lautet:?|auf|es|era|a|é|est))|\b(?:pass|pw):) ['\"“„`]?"
    r"(?=\S{0,40}?\d)([\w!#$%&*+?@^~-]{6,60}?)(?=['\"”`]?[.,;!?)]{0,3}(?:\s|\Z))",
    re.IGNORECASE,
)
"""A sentence that tells a password, in English, German, Spanish, Portuguese or French."""

_TECHNICAL = re.compile(
    r"(?:sha|md|aes|base|utf|bcrypt|argon|scrypt|pbkdf|o?auth|python|rfc)[-_]?\d|\d+[-_]?(?:bit|char|letter|zeichen)",
    re.IGNORECASE,
)

_SHIFT = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
"""Where random letters go over to digits or capitals, as words seldom do."""

_NOT_RANDOM = re.compile(r"\d{4}-\d\d-\d\d|[./~]|\w+://|v\d|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_LETTER = re.compile(r"[A-Za-z0-9]")
"""What a token goes on with. Letters of other scripts may be next to it: not all put blanks between words."""

_ESCAPED = re.compile(r"(?:\\(?:[nrt]|u[0-9A-Fa-f]{4})|[%=][0-9A-F]{2})\Z")
"""A sign written as letters, as in JSON, in addresses and in mails: it ends a word as the sign does."""

_SAMPLE = re.compile(r"x{4}|0{6}|\*{3}|\.{3}|your|example", re.IGNORECASE)
"""Marks of a value that only shows its form."""

_STAND_IN = re.compile(
    r"change.?me|placeholder|dummy|redacted|password|passwd|secret|1234|pass$|pwd$|test|admin|root|guest|postgres|tiger",
    re.IGNORECASE,
)
"""Further marks of a password that is none."""


def without_secrets(text: str) -> tuple[str, Counter[str]]:
    """The text with each secret replaced by its kind, and how many there were of each.

    A secret becomes ``[removed: GitHub Token]``.
    """
    found: Counter[str] = Counter()
    kept: list[str] = []
    end = 0
    for start, stop, kind in secret_spans(text):
        kept += [text[end:start], f"[removed: {kind}]"]
        found[kind] += 1
        end = stop
    return "".join(kept) + text[end:], found


def secret_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Where secrets begin and end, in characters and in the order of the text, and their kinds."""
    end = 0
    found = sorted(_secrets(text), key=_place) if _NEEDED.search(text) else ()
    for start, stop, kind in found:
        if start >= end:  # otherwise a part of the one before
            yield start, stop, kind
            end = stop


def _place(found: tuple[int, int, str]) -> tuple[int, bool, int]:
    """The order of secrets; of two that begin alike, the one whose kind says more, then the longer one."""
    return found[0], found[2] == "Secret", -found[1]


def secrets_in(text: str) -> tuple[str, ...]:
    """The kinds of secrets that a text holds, each once."""
    return tuple(without_secrets(text)[1])


def _secrets(text: str) -> Iterator[tuple[int, int, str]]:
    """Where patterns match, and the kind; one match may be a part of another."""
    for match in _PRIVATE_KEY.finditer(text) if "PRIVATE KEY" in text else ():
        yield *match.span(), "Private Key"
    for match in _URL_PASSWORD.finditer(text):
        if _is_value(match[1]):
            yield *match.span(1), "Password"
    for match in _VARIABLE.finditer(text):
        if _is_value(match[2]) and re.search(r"\d", match[2]) and re.search(r"[A-Za-z]", match[2]):
            yield *match.span(2), "Secret"
    for start, stop in chain(_named(text), _told(text)):
        yield start, stop, "Secret"
    for match in _PLACED.finditer(text):
        if _is_random(match[match.lastgroup or 0]):
            yield *match.span(match.lastgroup or 0), "Secret"
    yield from _with_shape(text)


def _with_shape(text: str) -> Iterator[tuple[int, int, str]]:
    """Tokens with the form of their service."""
    for kind, pattern in _tokens():
        for match in pattern.finditer(text):
            # A long group is a value of which the match also has the name; a short one is part of a value.
            start, stop = match.span(1 if match.lastindex and len(match[1] or "") >= 20 else 0)
            if not _is_part(text, start, stop) and not _SAMPLE.search(match[0]):
                yield start, stop, kind


def _named(text: str) -> Iterator[tuple[int, int]]:
    """Where values stand near a name. That of a password may be of words."""
    begin = 0  # names before it have their value
    for value in _VALUE.finditer(text):
        found = value[0].rstrip(".?")
        is_random = _is_random(found[:200])
        if not is_random and not _is_password(found):
            continue
        start, stop = value.start(), value.start() + len(found)
        name = _name_of(text, max(begin, start - _NEAR - _NAME), start, stop)
        if name is not None and (name["password"] or (is_random and len(found) >= 16)):
            yield start, stop
            begin = stop


def _told(text: str) -> Iterator[tuple[int, int]]:
    """Where a sentence tells a password: a word with a digit, and not the name of a method."""
    for match in _SAID.finditer(text):
        letters, digits = (len(re.findall(kind, match[1])) for kind in (r"[^\W\d_]", r"\d"))
        enough = letters >= 5 or (letters == 4 and digits > 1)
        if enough and _is_value(match[1]) and not _TECHNICAL.match(match[1]):
            yield match.span(1)


def _name_of(text: str, begin: int, start: int, stop: int) -> re.Match[str] | None:
    """The name of a value, soon before it in its line; of a password also a line before, or after it."""
    for name in reversed([*_NAMED.finditer(text, begin, start)]):
        lines = text.count("\n", name.end(), start)
        if start - name.end() <= _NEAR and lines <= bool(name["password"]):
            return name
    after = _NAMED.search(text, stop, stop + _NEAR)
    return after if after and after["password"] and "\n" not in text[stop : after.start()] else None


def _is_part(text: str, start: int, stop: int) -> bool:
    """Whether this is a part of a longer word, such as one that encodes a picture."""
    before = text[max(start - 6, 0) : start]
    glued = _LETTER.match(before[-1:]) and not _ESCAPED.search(before)
    return bool(glued or _LETTER.match(text, stop))


def _is_value(found: str) -> bool:
    """Whether this is a secret rather than its stand-in, such as `${PASSWORD}` or `changeme`."""
    return not (_SAMPLE.search(found) or _STAND_IN.search(found) or found[0] in "$<{%")


def _is_random(found: str) -> bool:
    """Whether this goes over from letters to digits or capitals more often than names do."""
    often = len(_SHIFT.findall(found)) >= max(3, len(found) / 5)
    return often and _is_value(found) and not _NOT_RANDOM.match(found)


def _is_password(found: str) -> bool:
    """Whether this has letters of both cases, a digit and a sign, as passwords that people think of."""
    return _is_value(found) and all(
        re.search(kind, found) for kind in ("[a-z]", "[A-Z]", r"\d", "[!#%+?@^~]")
    )


@cache
def _tokens() -> Sequence[tuple[str, re.Pattern[str]]]:
    """The kinds of tokens and their patterns. The library takes a quarter of a second to load."""
    found = [(kind, re.compile(pattern, re.ASCII)) for kind, pattern in _MORE.items()]
    for name in _SERVICES:
        module = import_module(f"detect_secrets.plugins.{name}")
        for detector in vars(module).values():
            if getattr(detector, "__module__", "") == module.__name__ and hasattr(detector, "denylist"):
                for pattern in detector.denylist:
                    flags = pattern.flags & ~re.UNICODE | re.ASCII
                    found.append((detector.secret_type, re.compile(pattern.pattern, flags)))
    return found
