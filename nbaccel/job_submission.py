"""Where Ray has the job submission client: importing this raises an ImportError that says what to do."""

from nbaccel.elsewhere import refuse

refuse(__name__, "the job submission client")
