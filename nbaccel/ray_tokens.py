"""The token of a Ray cluster: where it lies, how it is made, and how this process shows it.

Ray takes a file's token only if RAY_AUTH_MODE says so; without, a driver or a node fails after 20 s with a bare
"Failed to connect". Whoever has the token may run code on every node, so a file that others may read is refused.
"""

from __future__ import annotations

import os
import secrets
import shlex
import stat
from pathlib import Path

from nbaccel import plain_files

_LONGEST_BYTES = 65_536  # of a file; a token of Kubernetes' has some thousand characters


def usual_file() -> Path:
    """Where Ray looks for the token: RAY_AUTH_TOKEN_PATH, else ~/.ray/auth_token."""
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    return Path(named) if named else Path.home() / ".ray" / "auth_token"


def read_token(file: str | os.PathLike[str]) -> str:
    """The token in a file. Raises ValueError where there is none, and PermissionError where others may read it."""
    path = Path(file).expanduser()
    try:
        facts = path.stat()
        text = plain_files.read(path, _LONGEST_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ValueError(
            f"The token in {path} cannot be read ({why}). Copy the head's: scp head:~/.ray/auth_token {path}"
        ) from None
    if stat.S_IMODE(facts.st_mode) & 0o077:
        raise PermissionError(
            f"Others may read {path} (its mode is {stat.S_IMODE(facts.st_mode):04o}), and whoever has the token may "
            f"run code in the cluster. Type: chmod 600 {shlex.quote(str(path))}"
        )
    if not text or len(text.split()) > 1:
        raise ValueError(f"{path} holds no token. Copy the head's: scp head:~/.ray/auth_token {path}")
    return text


def write_token(path: Path, token: str) -> None:
    """Write the token so that only this user may read it; a file that is there is replaced at once."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(token)
    os.replace(beside, path)


def make_token() -> str:
    """A new token, as long as Ray's own."""
    return secrets.token_hex(32)


def show_token_of(file: str) -> None:
    """Make Ray in this process show the token of this file; raises as `read_token` does."""
    read_token(file)
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(Path(file).expanduser().absolute())
    os.environ.pop("RAY_AUTH_TOKEN", None)  # it would go before the file
