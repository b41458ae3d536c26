"""Takes secrets and personal data out of a case before it is written: equal values become equal tokens."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import re2  # type: ignore[import-untyped]

STRUCTURE = frozenset(
    {"trajectory_id", "trace_ids", "trace_id", "span_id", "parent_span_id", "finding_id", "started_at", "ended_at"}
    | {"first_seen", "last_seen", "status", "kind", "rule", "severity", "state", "scope", "usage", "totals", "cost_usd"}
    | {"evidence", "prompt_hash", "tools_hash"}
)
"""Keys of a trajectory document whose values our own code wrote."""
CONTENT = frozenset({"arguments", "result", "input", "output", "details"})
"""Keys below which everything comes from outside, whatever it is called there."""

LONGEST = 2**20
"""Bytes of one text that are searched; a longer one is taken out whole."""


@dataclass(frozen=True)
class Detector:
    """A kind of secret, and what it looks like."""

    kind: str
    pattern: str
    luhn: bool = False


DETECTORS = (
    Detector("private_key", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)"),
    Detector("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    Detector("aws_key", r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}\b"),
    Detector("google_key", r"\bAIza[A-Za-z0-9_-]{35}"),
    Detector("github_token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
    Detector("gitlab_token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    Detector("slack_token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    Detector("webhook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+"),
    Detector("npm_token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    Detector("pypi_token", r"\bpypi-[A-Za-z0-9_-]{50,}"),
    Detector("huggingface_token", r"\bhf_[A-Za-z0-9]{30,}"),
    Detector("stripe_key", r"\b(?:[sr]k|whsec)_(?:(?:live|test)_)?[A-Za-z0-9]{16,}"),
    Detector("api_key", r"\bsk-[A-Za-z0-9_-]{16,}"),
    Detector("sendgrid_key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    Detector("telegram_token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    Detector("authorization", r"(?i)\b(?:bearer|basic|token)\s+[A-Za-z0-9._~+/=-]{12,}"),
    Detector("url_password", r"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@'\"]*:[^\s/@'\"]+@"),
    Detector(
        "secret",
        r"(?i)[\"']?\b[a-z0-9_.-]*(?:passw(?:or)?d|passwd|pwd|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token"
        r"|access[_-]?token|refresh[_-]?token|client[_-]?secret|private[_-]?key|credential)[a-z0-9_.-]*[\"']?\s*(?:[:=]|\bis\b)\s*"
        r"[\"']?[^\s\"',;}]{4,}",
    ),
    Detector("email", r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}\b"),
    Detector("iban", r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"),
    Detector("card", r"\b[0-9](?:[ -]?[0-9]){12,18}\b", luhn=True),
    Detector("ssn", r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b"),
    Detector("phone", r"(?:\+|\b00)[0-9]{1,3}(?:[ .()/-]{0,2}[0-9]){7,13}\b"),
    Detector("china_mobile", r"\b1[3-9][0-9]{9}\b"),
    Detector(
        "china_id", r"\b[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx]\b"
    ),
    Detector("ip_address", r"\b(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\b"),
)
"""In this order; each searches what those before it left. RE2, so that no text can make them slow."""

SECRET_KEYS = re.compile(
    r"(?i)(passw(or)?d|passwd|pwd|passphrase|secret|api_?key|access_?key|private_?key|auth_?token|access_?token"
    r"|refresh_?token|bearer|credential|cookie|authorization|ssn|iban|card_?number|cvv|cvc|pin_?code)"
)
"""Keys whose value is a secret whatever it looks like; `-` and spaces count as `_`."""
NO_SECRET = re.compile(r"(?i)(tokens|_count|_hash|max_token|token_type|token_usage)")
"""Keys that only sound like it: numbers of tokens, hashes."""


@dataclass
class Redactor:
    """Replaces what the detectors find. Equal values give equal tokens within one test set (same `key`)."""

    key: bytes = b"trailhound"
    """A token is a keyed hash: without the key nobody can test guesses against it."""
    found: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        options = re2.Options()
        options.max_mem = 64 * 2**20
        options.log_errors = False
        self._compiled = [(d, re2.compile(d.pattern, options)) for d in DETECTORS]

    def value(self, value: Any) -> Any:
        """JSON data with every secret in its texts, keys included, replaced; its shape and types stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._member(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, int) and not isinstance(value, bool) and _card(str(value)):
            return self.token("card", str(value))
        return value

    def _member(self, key: str, item: Any) -> Any:
        name = key.replace("-", "_").replace(" ", "_")
        secret = SECRET_KEYS.search(name) and not NO_SECRET.search(name)
        if secret and isinstance(item, str | int) and not isinstance(item, bool) and item != "":
            return self.token("secret", str(item))
        return self.value(item)

    def run(self, document: Any, depth: int = 6) -> Any:
        """A trajectory document without secrets: everything but its ids, times and numbers is searched."""
        if depth and isinstance(document, dict):
            return {
                key: item if key in STRUCTURE else self.run(item, depth - 1) if key not in CONTENT else self.value(item)
                for key, item in document.items()
            }
        if depth and isinstance(document, list):
            return [self.run(item, depth - 1) for item in document]
        return self.value(document)

    def text(self, text: str) -> str:
        """One text with its secrets replaced."""
        if len(text) > LONGEST:
            return self.token("long_text", text)
        for detector, compiled in self._compiled:
            if compiled.search(text) is not None:
                text = self._replace(detector, compiled, text)
        return text

    def _replace(self, detector: Detector, compiled: Any, text: str) -> str:
        def put(match: Any) -> str:
            secret = match.group(0)
            if (detector.luhn and not _card(secret)) or "[REDACTED:" in secret:
                return str(secret)
            return self.token(detector.kind, secret)

        return str(compiled.sub(put, text))

    def token(self, kind: str, secret: str) -> str:
        """`[REDACTED:email:1f0c9a2b3d4e]`."""
        self.found[kind] += 1
        mark = hmac.new(self.key, f"{kind}\x1f{secret}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:12]
        return f"[REDACTED:{kind}:{mark}]"


def _card(text: str) -> bool:
    """Whether the digits are a payment card's: 13 to 19 of them, Luhn's check (ISO/IEC 7812-1, annex B), a known start."""
    digits = [int(c) for c in text if c.isdigit()]
    if not 13 <= len(digits) <= 19 or digits[0] not in (2, 3, 4, 5, 6):
        return False
    doubled = [d if i % 2 == 0 else (d * 2 - 9 if d > 4 else d * 2) for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0
