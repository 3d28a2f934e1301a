"""Where Ray has Ray Tune: importing this raises an ImportError that says what to do."""

from nbaccel.elsewhere import refuse

refuse(__name__, "Ray Tune")
