"""Manifests in files: YAML and JSON are read with the care of an API server, and written for people.

PyYAML comes with `nbaccel[kubernetes]` and is imported when a file is read or written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any


class UnreadableFile(ValueError):
    """The text is not what kubectl would read as manifests."""


def read_documents(content: bytes | str) -> list[Any]:
    """Every document of a file; UnreadableFile says where the text is at fault."""
    yaml = _yaml()
    text = _text(content) if isinstance(content, bytes) else content
    try:
        return [document for document in yaml.load_all(text, Loader=_strict_loader()) if document is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise UnreadableFile(f"The file cannot be read as YAML{where}: {problem}.") from None


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"The file is no text: its byte {error.start + 1} is not UTF-8. A manifest is YAML or JSON."
        ) from None


def write_document(document: Mapping[str, Any]) -> str:
    """The document as YAML; text that would be read as a number or a truth value is in quotes."""
    yaml = _yaml()

    class Dumper(yaml.SafeDumper):  # type: ignore[misc, name-defined]  # without names for parts that occur twice
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return str(yaml.dump(document, Dumper=Dumper, sort_keys=False, default_flow_style=False, width=120))


def _yaml() -> Any:
    try:
        import yaml
    except ModuleNotFoundError:
        raise RuntimeError(
            "Manifests are YAML, and PyYAML is not installed. Install it: pip install 'nbaccel[kubernetes]'"
        ) from None
    return yaml


@cache
def _strict_loader() -> Any:
    """A safe loader that refuses a key that is written twice, as an API server does; PyYAML takes the last one."""
    yaml = _yaml()
    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(fast):  # type: ignore[misc, valid-type]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            lines: dict[str, int] = {}
            for key, _ in node.value:
                name = str(key.value)
                if name in lines and key.tag != "tag:yaml.org,2002:merge":
                    problem = f"{name!r} is written twice, in lines {lines[name]} and {key.start_mark.line + 1}"
                    raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
                lines[name] = key.start_mark.line + 1
            return super().construct_mapping(node, deep=deep)

    # A timestamp is text in Kubernetes, and a YAML reader would make an object of it.
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in pairs if tag != "tag:yaml.org,2002:timestamp"]
        for first, pairs in fast.yaml_implicit_resolvers.items()
    }
    return Loader
