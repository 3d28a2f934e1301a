"""Ray's `ray.remote_function` path: the class of remote functions, for annotations and isinstance."""

from nbaccel.handles.remote import RemoteFunction

__all__ = ["RemoteFunction"]
