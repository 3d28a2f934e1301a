"""Whole programs that end badly, are starved, interrupted or forked; tests run them in a place of their own."""

from __future__ import annotations

INTERRUPTED_GET = """
import os, signal, threading, time
import numpy
import nbaccel
nbaccel.init(num_cpus=2)
@nbaccel.remote
class Gate:
    def __init__(self): self.open = False
    async def wait(self):
        import asyncio
        while not self.open: await asyncio.sleep(0.01)
        return 1
    async def let(self): self.open = True
gate = Gate.remote()
ref = gate.wait.remote()
large = nbaccel.put(numpy.full(1_000_000, 5))
try:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    nbaccel.get([large, ref])
except KeyboardInterrupt:
    print("interrupted")
gate.let.remote()
print("finished", nbaccel.get(ref))
print("array", nbaccel.get(large)[0])
"""

TALKING_ACTORS = """
import nbaccel
nbaccel.init(num_cpus=1)
@nbaccel.remote
class Plain:
    def talk(self): print("hello")
@nbaccel.remote
class Named:
    def __init__(self, number): self.number = number
    def __repr__(self): return f"named {self.number}"
    def talk(self): print("hello")
plain, named = Plain.remote(), Named.remote(7)
nbaccel.get(plain.talk.remote())
nbaccel.get(named.talk.remote())
"""

FLOOD = """
import nbaccel
nbaccel.init(num_cpus=2)
@nbaccel.remote
def flood(task):
    for i in range(50_000):
        print(task, i, "x" * 60)
nbaccel.get([flood.remote(0), flood.remote(1)])
"""

SLOW_READER = """
import psutil, threading
import nbaccel
from nbaccel.views import sinks
nbaccel.init(num_cpus=2)
free, blocked = threading.Event(), threading.Event()
class Slow(sinks.Sinks):
    lines_seen = 0
    def lines(self, message):
        blocked.set()
        free.wait()
        Slow.lines_seen += message.text.count(b"\\n")
sinks.install(Slow())
@nbaccel.remote
def flood():
    for i in range(300):
        print("\\n".join(["y" * 100] * 1000))
@nbaccel.remote
def seven():
    return 7
ref = flood.remote()
blocked.wait()
for _ in range(200):
    nbaccel.get(seven.remote())
print("works:", nbaccel.get(seven.remote()))
head = psutil.Process(nbaccel.snapshot().runtime.pid)
small = head.memory_info().rss < 120 << 20
free.set()
nbaccel.get(ref)
nbaccel.shutdown()
print("all there:", Slow.lines_seen == 300_000)
print("head small:", small)
"""

QUIET = """
import glob, os
import nbaccel
context = nbaccel.init(num_cpus=1, log_to_driver=False)
@nbaccel.remote
def f():
    print("quiet words")
    return os.getpid()
nbaccel.get(f.remote())
directory = os.path.dirname(context.address_info["address"])
def read():
    return [text for path in glob.glob(directory + "/logs/*.out") if (text := open(path).read().strip())]
while not read():
    pass
print(read())
"""

MANY_ACTORS = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
import nbaccel
nbaccel.init(num_cpus=1)
@nbaccel.remote(num_cpus=0)
class Actor:
    def limit(self): return resource.getrlimit(resource.RLIMIT_NOFILE)
@nbaccel.remote
def seven():
    return 7
actors = [Actor.remote() for _ in range(30)]
try:
    limits = nbaccel.get([actor.limit.remote() for actor in actors])
    print(limits[0], len(limits))
except nbaccel.exceptions.ActorDiedError as error:
    print(error)
del actors
while True:
    try:
        print("after", nbaccel.get(seven.remote()))
        break
    except nbaccel.exceptions.WorkerCrashedError:
        pass  # the dead actors' descriptors have not come free yet

"""

FULL_DISK = """
import numpy
import nbaccel
nbaccel.init(num_cpus=1, object_store_memory=16 << 20)
@nbaccel.remote
def f(x):
    return x
refs = []
try:
    for i in range(4):
        refs.append(nbaccel.put(numpy.full(6 << 20, i, dtype=numpy.uint8)))
except nbaccel.exceptions.ObjectStoreFullError as error:
    print(type(error).__name__, error)
print("kept", [nbaccel.get(ref)[-1] for ref in refs] == list(range(len(refs))))
print("after", nbaccel.get(f.remote(1)))
"""

KILLED_LOG = """
import os, psutil, time
import nbaccel
from tests.local_engine import misbehaving

def log():
    for child in head.children():
        try:
            if "nbaccel::log" in " ".join(child.cmdline()):
                return child.pid
        except psutil.NoSuchProcess:  # also one that the head has not reaped yet
            continue

nbaccel.init(num_cpus=1)
head = psutil.Process(nbaccel.snapshot().runtime.pid)
ref = misbehaving.count_slowly.remote(20_000)
killed = set()
while len(killed) < 3 or not nbaccel.wait([ref], timeout=0)[0]:
    pid = log()
    if pid and pid not in killed and len(killed) < 3:
        os.kill(pid, 9)
        killed.add(pid)
nbaccel.get(ref)
"""

GRANDCHILDREN = """
import os, subprocess, sys, time
import nbaccel
nbaccel.init(num_cpus=1)
@nbaccel.remote
def start():
    subprocess.Popen(["sleep", "1000"])
    subprocess.Popen(["sh", "-c", "sleep 1000 & sleep 1000"], start_new_session=True)
@nbaccel.remote
def hang():
    while True: time.sleep(1)
def wait_for_loss():
    try:
        nbaccel.get(hang.remote())
    except nbaccel.exceptions.HeadDiedError:
        pass
nbaccel.get(start.remote())
print("started", flush=True)
"""

KILLED_HEAD = """
import os, re, signal, time
import nbaccel
nbaccel.init(num_cpus=1)
@nbaccel.remote
def hang():
    time.sleep(1000)
@nbaccel.remote
def one():
    return 1
ref = hang.remote()
os.kill(nbaccel.snapshot().runtime.pid, signal.SIGKILL)
for call in (lambda: nbaccel.get(ref), lambda: nbaccel.get(one.remote())):
    try:
        call()
    except nbaccel.exceptions.HeadDiedError as error:
        print(type(error).__name__, *re.findall("SIG[A-Z]+", str(error)))
nbaccel.shutdown()
nbaccel.init(num_cpus=1)
print("again", nbaccel.get(one.remote()))
"""

BUSY = """
import os, sys, time
import nbaccel
nbaccel.init(num_cpus=2)
@nbaccel.remote
def hang():
    time.sleep(1000)
@nbaccel.remote
class Actor:
    def ready(self): return True
actor = Actor.remote()
nbaccel.get(actor.ready.remote())
running, waiting = hang.remote(), [hang.remote() for _ in range(5)]
print("busy", flush=True)
"""

WAITING_AT_SHUTDOWN = """
import threading, time
import nbaccel
nbaccel.init(num_cpus=1, log_to_driver=False)
@nbaccel.remote
def hang():
    time.sleep(1000)
@nbaccel.remote
class Actor:
    def hang(self): time.sleep(1000)
actor = Actor.remote()
refs = [hang.remote(), hang.remote(), actor.hang.remote()]
said = []
started = threading.Barrier(4)
def wait(ref):
    started.wait()
    try:
        nbaccel.get(ref)
    except nbaccel.exceptions.RayError as error:
        said.append(str(error))
threads = [threading.Thread(target=wait, args=(ref,)) for ref in refs]
for thread in threads:
    thread.start()
started.wait()
nbaccel.shutdown()
for thread in threads:
    thread.join()
print(len(said), all("shut down" in words or "shutdown()" in words for words in said))
try:
    nbaccel.get(refs[0])
except nbaccel.exceptions.RayError as error:
    print(type(error).__name__, "a cluster that has been shut down" in str(error))
"""

HOARDER = """
import pickle
import numpy
import nbaccel
nbaccel.init(address="auto")
@nbaccel.remote
class Keeper:
    def keep(self, refs): self.refs = refs
by_hand = pickle.dumps(nbaccel.put(numpy.zeros(1_000_000)))
captured = nbaccel.put("captured")
@nbaccel.remote
def use(): return nbaccel.get(captured)
keeper = Keeper.options(name="keeper").remote()
views = [nbaccel.get(nbaccel.put(numpy.zeros(1_000_000))) for _ in range(3)]
nbaccel.get(keeper.keep.remote([nbaccel.put(i) for i in range(10)]))
print("hoarded", nbaccel.get(use.remote()), flush=True)
"""

HOLDER = """
import signal
import subprocess
import sys
import time
import nbaccel
nbaccel.init(address="auto")
@nbaccel.remote(num_gpus=1)
class Holder:
    def ids(self): return nbaccel.get_gpu_ids()
holder = Holder.remote()
print("holds", nbaccel.get(holder.ids.remote()), flush=True)
sys.stdin.readline()
"""

FORKED = """
import os
import nbaccel
nbaccel.init(num_cpus=1)
@nbaccel.remote
def head():
    return os.getppid()
@nbaccel.remote
def value(x):
    return x
ours = nbaccel.get(head.remote())
child = os.fork()
if child == 0:
    own = not nbaccel.is_initialized()
    nbaccel.init(num_cpus=1)
    own = own and nbaccel.get(head.remote()) != ours
    print("child", own, nbaccel.get(value.remote(1)), flush=True)
    nbaccel.shutdown()
    os._exit(0)
os.waitpid(child, 0)
print("parent", nbaccel.get(value.remote(2)))
"""

INTERRUPTED = """
import time
import nbaccel
nbaccel.init(num_cpus=2)
@nbaccel.remote
def hang():
    time.sleep(1000)
@nbaccel.remote
class Actor:
    def seven(self): return 7
actor = Actor.remote()
nbaccel.get(actor.seven.remote())
ref = hang.remote()
try:
    print("waiting", flush=True)
    nbaccel.get(ref)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print("still here", nbaccel.get(actor.seven.remote()), flush=True)
"""

INTERRUPTED_START = """
import os
from nbaccel.local_engine.driver import engine as driver, launch
from nbaccel.handles.options import init_options
class Interrupted:
    "Options that interrupt whoever looks at one of them."
    def __getattr__(self, name):
        if name == os.environ["INTERRUPTED_AT"]: raise KeyboardInterrupt
        return getattr(options, name)
options = init_options(num_cpus=1)
if os.environ["INTERRUPTED_AT"] == "configuration":
    send = launch.HeadProcess.send
    def interrupted(head, config):
        send(head, config)
        begun.append((head.process, config))
        raise KeyboardInterrupt
    begun, launch.HeadProcess.send = [], interrupted
    try:
        launch.embedded(options)
    except KeyboardInterrupt:
        print(begun[0][0].wait(), os.path.exists(begun[0][1].directory))
    raise SystemExit
started = launch.embedded(options)
try:
    driver.take_over(started, Interrupted())
except KeyboardInterrupt:
    print(started.process.returncode, os.path.exists(started.config.directory))
"""

START_NOWHERE = """
import os, tempfile
import nbaccel
directory = tempfile.mkdtemp()
os.chdir(directory)
os.rmdir(directory)
nbaccel.init(num_cpus=1)
print(nbaccel.get(nbaccel.put(5)))
"""

PRELOADED = """
import nbaccel
nbaccel.init(num_cpus=1, preload=["no_such_module"])
nbaccel.get(nbaccel.remote(lambda: 5).remote())
nbaccel.shutdown()
"""

SHUT_OUT = """
import threading
import nbaccel
from nbaccel import engine, exceptions
from nbaccel.local_engine import wire
nbaccel.init(address="auto")
@nbaccel.remote
def wait():
    threading.Event().wait()
ref = wait.remote()
engine.started().link.send(wire.Done(b"x" * 24, []))
try:
    nbaccel.get(ref)
except exceptions.HeadDiedError as error:
    print(error)
"""

# A driver whose task prints for ever; it reads the lines and shows none. The file says that it has begun.
FLOODER = """
import nbaccel
from nbaccel.views import sinks
class StallTimer(sinks.Sinks):
    lines = lambda self, message: None
sinks.install(StallTimer())
nbaccel.init(address="auto")
@nbaccel.remote
def flood():
    open({path!r}, "w").close()
    while True:
        print("x" * 1000)
nbaccel.get(flood.remote())
"""

DAEMON_THREADS = """
import asyncio, threading, nbaccel
nbaccel.init(num_cpus=8)

@nbaccel.remote(num_cpus=0)
def hang():
    import time
    time.sleep(1000)

@nbaccel.remote(num_cpus=0, num_returns="streaming")
def hang_in_a_stream():
    import time
    yield time.sleep(1000)

@nbaccel.remote(num_cpus=0)
class Actor:
    async def hang(self):
        await asyncio.sleep(1000)

async def awaited():
    await hang.remote()

def submits():
    while True:
        nbaccel.get(nbaccel.put(1))
        nbaccel.nodes()

actor = Actor.remote()
begun = threading.Semaphore(0)
for use in (
    lambda: nbaccel.get(hang.remote()),
    lambda: nbaccel.wait([hang.remote()]),
    lambda: nbaccel.get(actor.hang.remote()),
    lambda: hang.remote().future().result(),
    lambda: next(hang_in_a_stream.remote()),
    lambda: asyncio.run(awaited()),
    submits,
):
    threading.Thread(target=lambda use=use: (begun.release(), use()), daemon=True).start()
    begun.acquire()
print(nbaccel.get(nbaccel.put("the end")))
"""

FAILED_STARTS = """
import os, nbaccel
wrong = [dict(bad_option=1), dict(num_cpus="many"), dict(num_cpus=-1)]
def descriptors(): return len(os.listdir("/proc/self/fd"))
before = None
for given in wrong:
    try:
        nbaccel.init(**given)
    except (RuntimeError, TypeError, ValueError) as error:
        print(type(error).__name__)
    before = before or descriptors()
print("the same descriptors" if descriptors() == before else "more descriptors")
try:
    os.waitpid(-1, os.WNOHANG)
    raise SystemExit("a child is left")
except ChildProcessError:
    pass
nbaccel.init(num_cpus=1)
print(nbaccel.get(nbaccel.put(5)))
"""

KILLED_BEFORE_ITS_OPTIONS = """
import os, signal
from nbaccel.local_engine.driver import launch
with launch.ahead():
    print(launch._waiting[0].process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""

BROKEN_HEAD = """
import os, sys
from nbaccel import exceptions, roots
from nbaccel.local_engine.driver import launch
import nbaccel.api
folder = os.path.join(os.environ["TMPDIR"], "broken")
os.mkdir(folder)
with open(os.path.join(folder, "msgspec.py"), "w") as file:
    file.write("raise ModuleNotFoundError(\\"No module named 'msgspec'\\")")
os.environ["PYTHONPATH"] = folder
try:
    nbaccel.init(num_cpus=1)
except exceptions.RaySystemError as error:
    print(error)
"""

NO_DEVICE = """
import sys, nbaccel
nbaccel.init(num_cpus=1, num_gpus=1)
@nbaccel.remote
def one(): return 1
print(nbaccel.get(one.remote()))
print([name for name in ("nbaccel.accelerators", "json", "hashlib") if name in sys.modules])
"""

EARLY_HEAD = """
import sys, subprocess, nbaccel
started = subprocess.Popen.__init__
def seen(process, arguments, *rest, **keywords):
    names = ("msgspec", "nbaccel.api", "nbaccel.handles", "nbaccel.views.sessions", "nbaccel.local_engine.client")
    if "head.boot" in arguments[-1]:
        print([name for name in names if name in sys.modules])
    return started(process, arguments, *rest, **keywords)
subprocess.Popen.__init__ = seen
nbaccel.init(num_cpus=1)
print(nbaccel.is_initialized())
"""
