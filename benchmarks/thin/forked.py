"""What Ray starts in place of Python: has the worker forked elsewhere, and ends once it is.

Ray learns the worker's pid when it registers, so this process need not stay.
"""

import json
import os
import socket
import sys
import time

# The CPU time is the process's since Ray has started it: Ray imports itself to find out what to start.
asked = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd(), time.process_time()]) + "\n"
with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.environ["NBACCEL_THIN_WORKERS"])
    message = asked.encode()
    sent = socket.send_fds(server, [message], [0, 1, 2])
    server.sendall(message[sent:])
    server.recv(1)  # until the other end has forked
