"""Ray's `ray.types` path: the ref as a type for annotations, `def f(x: ObjectRef[int])`."""

from nbaccel.handles import ObjectRef

__all__ = ["ObjectRef"]
