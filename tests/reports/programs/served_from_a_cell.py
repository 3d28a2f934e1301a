"""A notebook had no way to hand a model to others: a class behind a URL, on half a device, run again and again."""

# needs: uvicorn

# %%
import json
import os
import signal
import urllib.request

import nbaccel
from nbaccel import serve

nbaccel.init(num_cpus=2, num_gpus=1)


def get(path=""):
    return json.loads(urllib.request.urlopen(f"{serve.status().url}/{path}", timeout=60).read())


# %%
FACTOR = 2


@serve.deployment(ray_actor_options={"num_gpus": 0.5})
class Model:
    def __init__(self, word):
        if word == "broken":
            raise ValueError("there are no weights for it")
        self.word = word
        self.seen = 0

    def __call__(self, request):
        self.seen += 1
        gpu = nbaccel.get_gpu_ids()
        return {"word": self.word, "seen": self.seen, "factor": FACTOR, "gpu": gpu, "pid": os.getpid()}

    async def double(self, x):
        return FACTOR * x


handle = serve.run(Model.bind("first"))
# %%
first = get()
assert (first["word"], first["seen"], first["factor"], first["gpu"]) == ("first", 1, 2, [0])
assert get()["seen"] == 2
assert handle.double.remote(21).result() == 42
assert nbaccel.available_resources()["GPU"] == 0.5
assert "first" not in repr(handle) and "curl" in handle._repr_html_()
# %%
FACTOR = 2


@serve.deployment(ray_actor_options={"num_gpus": 0.5})
class Model:  # the same cell again, and a comment: it goes on, with what it has seen
    def __init__(self, word):
        if word == "broken":
            raise ValueError("there are no weights for it")
        self.word = word
        self.seen = 0

    def __call__(self, request):
        self.seen += 1
        gpu = nbaccel.get_gpu_ids()
        return {"word": self.word, "seen": self.seen, "factor": FACTOR, "gpu": gpu, "pid": os.getpid()}

    async def double(self, x):
        return FACTOR * x


handle = serve.run(Model.bind("first"))
again = get()
assert (again["seen"], again["pid"]) == (3, first["pid"])
# %%
FACTOR = 3  # a changed global is changed code
handle = serve.run(Model.bind("second"))
second = get()
assert (second["word"], second["factor"], second["seen"]) == ("second", 3, 1)
# %%
os.kill(second["pid"], signal.SIGKILL)
assert get()["word"] == "second"
# %%
try:
    serve.run(Model.bind("broken"))
except ValueError as error:
    assert "there are no weights for it" in str(error) and "in __init__" in str(error)
else:
    raise AssertionError("the constructor's exception did not arrive")
assert get()["word"] == "second"
# %%
serve.shutdown()
assert serve.status().applications == {}
nbaccel.shutdown()
