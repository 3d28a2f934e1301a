"""Values of Ray's that programs read, by its private path: those that mean the same here.

What only Ray's own processes have (names of their logs, ports and files) is not here.
"""

import os

ID_SIZE = 28  # bytes of a UniqueID
DEFAULT_PORT = 6379  # of a Ray cluster that init(engine="ray") joins
DEFAULT_DASHBOARD_PORT = 8265  # of Ray's dashboard, which init(engine="ray", include_dashboard=True) starts
MIN_RESOURCE_GRANULARITY = 0.0001
DEFAULT_ACTOR_METHOD_NUM_RETURN_VALS = 1

RAY_ADDRESS_ENVIRONMENT_VARIABLE = "RAY_ADDRESS"
RAY_NAMESPACE_ENVIRONMENT_VARIABLE = "RAY_NAMESPACE"
RAY_RUNTIME_ENV_ENVIRONMENT_VARIABLE = "RAY_RUNTIME_ENV"

LOGGER_FORMAT = "%(asctime)s\t%(levelname)s %(filename)s:%(lineno)s -- %(message)s"
LOGGER_LEVEL = os.environ.get("RAY_LOGGER_LEVEL", "info")
LOGGER_LEVEL_CHOICES = ["debug", "info", "warning", "error", "critical"]
