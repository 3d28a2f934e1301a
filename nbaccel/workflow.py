"""Where Ray has Ray Workflows: importing this raises an ImportError that says what to do."""

from nbaccel.elsewhere import refuse

refuse(__name__, "Ray Workflows")
