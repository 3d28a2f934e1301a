"""Where Ray has the graph API (bind, execute): importing this raises an ImportError that says what to do."""

from nbaccel.elsewhere import refuse

refuse(__name__, "the graph API (bind, execute)")
