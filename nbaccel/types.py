"""Ray's `ray.types` path: the ref as a type for annotations, `def f(x: ObjectRef[int])`."""

from nbaccel.handles.remote import ObjectRef

__all__ = ["ObjectRef"]
