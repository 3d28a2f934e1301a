"""What is not public in Ray, for drivers: the module of the package that Ray's workers have."""

from nbaccel.ray_engine.border.rays import import_shipped

import_shipped()

from nbaccel_in_ray import internals as internals  # noqa: E402  # found once the line above has run
