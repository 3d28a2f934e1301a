"""Where Ray has RLlib: importing this raises an ImportError that says what to do."""

from nbaccel.elsewhere import refuse

refuse(__name__, "RLlib")
