"""Typed readers of the environment: the only code that knows where a setting comes from.

A value is read, in this order, from the variable ``NAME``, from the file that ``NAME_FILE`` names
(for secrets mounted by Docker or systemd), and from a ``.env`` file at the root of the checkout. An
unreadable value stops the program and names the variable; the value itself is never shown, since it
may be a secret.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from ipaddress import ip_address
from pathlib import Path
from typing import Final, overload
from urllib.parse import parse_qsl, unquote, urlsplit

ENV_FILE: Final = Path(__file__).resolve().parent.parent / ".env"
TRUE_WORDS: Final = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS: Final = frozenset({"0", "false", "no", "off", ""})
PLAIN_VARIABLES: Final = frozenset({"PATH", "HOME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH"})
DATABASE_SCHEMES: Final = frozenset({"postgres", "postgresql"})


class EnvError(Exception):
    """A setting is missing or unreadable; the message names its variable."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name


@dataclass(frozen=True)
class DatabaseUrl:
    """The parts of ``postgres://user:password@host:port/name?option=value``, percent-decoded."""

    name: str
    user: str
    host: str
    port: str
    password: str = field(repr=False)
    options: dict[str, str]

    def conninfo(self) -> dict[str, str]:
        """Return the parts under libpq's names, without empty ones."""
        parts = {
            "dbname": self.name,
            "user": self.user,
            "password": self.password,
            "host": self.host,
            "port": self.port,
        }
        return {key: value for key, value in parts.items() if value} | self.options


@overload
def env_str(name: str) -> str: ...
@overload
def env_str(name: str, default: str) -> str: ...
@overload
def env_str(name: str, default: None) -> str | None: ...
def env_str(name: str, default: str | None = "") -> str | None:
    """Return the text of a setting; an empty value counts as not set."""
    return _lookup(name) or default


def env_bool(name: str, *, default: bool) -> bool:
    """Parse 1/true/yes/on or 0/false/no/off; anything else is refused."""
    value = _lookup(name)
    if not value:
        return default
    word = value.lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise EnvError(name, "must be one of 1, true, yes, on, 0, false, no, off")


def env_int(
    name: str, default: int, *, minimum: int | None = None, maximum: int | None = None
) -> int:
    value = _lookup(name)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        raise EnvError(name, "must be a whole number") from None
    if minimum is not None and number < minimum:
        raise EnvError(name, f"must be at least {minimum}")
    if maximum is not None and number > maximum:
        raise EnvError(name, f"must be at most {maximum}")
    return number


def env_money(name: str) -> Decimal | None:
    """Parse an amount of at least 0; None if there is none."""
    value = _lookup(name)
    if not value:
        return None
    try:
        amount = Decimal(value)
    except InvalidOperation:
        raise EnvError(name, "must be an amount, such as 12.50") from None
    if not amount.is_finite() or not 0 <= amount < 10**8:
        raise EnvError(name, "must be an amount from 0 to 99,999,999")
    return amount


def env_list(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """Split words at commas, ignoring spaces around them."""
    value = _lookup(name)
    words = value.split(",") if value else default
    return [word.strip() for word in words if word.strip()]


def env_path(name: str, default: Path) -> Path:
    """Return a path, ``~`` expanded; a relative one starts at the root of the checkout."""
    value = _lookup(name)
    path = Path(value).expanduser() if value else default
    return path if path.is_absolute() else ENV_FILE.parent / path


def env_url(name: str) -> DatabaseUrl | None:
    """Return the parts of a Postgres URL, or None if the setting is absent."""
    value = _lookup(name)
    return parse_database_url(value, name=name) if value else None


def env_web_address(name: str) -> str:
    """Return an http or https URL without a trailing slash."""
    value = (_lookup(name) or "").rstrip("/")
    if value and (urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).netloc):
        raise EnvError(name, "must start with http:// or https:// and include a host")
    return value


def is_loopback(host: str) -> bool:
    """Whether a server on this host is for its own machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def parse_database_url(value: str, *, name: str = "database URL") -> DatabaseUrl:
    """
    >>> parse_database_url("postgres://kb%40x:s%2Fecret@db:5433/kb").conninfo()
    {'dbname': 'kb', 'user': 'kb@x', 'password': 's/ecret', 'host': 'db', 'port': '5433'}
    """
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise EnvError(name, "is not a URL of the form postgres://user@host:port/name") from None
    database = unquote(parts.path.removeprefix("/"))
    if parts.scheme not in DATABASE_SCHEMES or not database:
        raise EnvError(name, "must look like postgres://user:password@host:port/name")
    options = dict(parse_qsl(parts.query))
    return DatabaseUrl(
        name=database,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        # A socket folder is given as ?host=/path, or percent-encoded as the host.
        host=options.pop("host", "") or unquote(parts.hostname or ""),
        port=options.pop("port", "") or str(port or ""),
        options=options,
    )


def child_environment(**changes: str) -> dict[str, str]:
    """Return this process's environment for a child process, with ``changes`` applied."""
    return {**os.environ, **changes}


def psql_environment() -> dict[str, str]:
    """Return the environment without PG* variables, which would redirect Postgres' own programs."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PG")}


def plain_environment() -> dict[str, str]:
    """Return what any program needs, and no secret: others can read a program's environment."""
    return {
        key: value
        for key, value in os.environ.items()
        if key in PLAIN_VARIABLES or key.startswith("LC_")
    }


def read_env_file(path: Path) -> dict[str, str]:
    """Return the ``NAME=value`` lines of a file; a missing file counts as empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    values: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip().removeprefix("export ").strip()
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        if not equals or not key.strip().isidentifier():
            raise EnvError(str(path), f"line {number} is not of the form NAME=value")
        values[key.strip()] = _unquoted(value.strip())
    return values


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value.split(" #", 1)[0].rstrip()


def _lookup(name: str) -> str | None:
    for source in (os.environ, _file_values()):
        if name in source:
            return source[name].strip()
        if source.get(f"{name}_FILE"):
            return _read_secret(f"{name}_FILE", source)
    return None


def _read_secret(name: str, source: Mapping[str, str]) -> str:
    try:
        return Path(source[name]).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise EnvError(
            name, f"the file it names cannot be read ({type(problem).__name__})"
        ) from None


_cache: dict[Path, dict[str, str]] = {}


def _file_values() -> dict[str, str]:
    if ENV_FILE not in _cache:
        _cache[ENV_FILE] = read_env_file(ENV_FILE)
    return _cache[ENV_FILE]
