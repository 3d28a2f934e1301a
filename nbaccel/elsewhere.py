"""Ray's libraries that nbaccel does not have: importing one says where it is."""

from typing import NoReturn


def refuse(path: str, library: str) -> NoReturn:
    """Raise the ImportError of such an import."""
    raise ModuleNotFoundError(
        f"There is no {path}: nbaccel has the names of Ray Core, and {library} is not a part of that. On a Ray cluster "
        f"you have both: nbaccel.init(engine='ray'), then `import {path.replace('nbaccel', 'ray', 1)}` beside nbaccel.",
        name=path,
    )
