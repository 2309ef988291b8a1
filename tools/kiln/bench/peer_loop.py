"""The protocol of peer.h on standard input and output, for programs that have rows: functions that
give the forms of one call's work, of which the fastest is timed. Rows of compiling (`compile_*`
and `first_step_*`) have functions that compile and run; each call of one is timed in a new
process."""
import argparse
import math
import os
import signal
import subprocess
import sys
import time

# The times of a sample on processors and on devices, as in measure.cpp.
SAMPLE_SECONDS, DEVICE_SAMPLE_SECONDS = 3e-3, 2e-2
# Calls of a form before it is timed: compilers specialise and record graphs in the first ones.
WARM_CALLS = 4
# Limit of the first calls of one form in seconds, compilation included.
FORM_SECONDS = 90
# Read at import, before a library binds the main thread: the processors of the whole program.
PROCESSORS = os.sched_getaffinity(0)


class TooLong(Exception):
    pass


def options():
    """Parses the options that peer_threads.py passes. Called before libraries are imported."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cold", nargs=3, metavar=("ROW", "FORM", "SIZE"),
                        help="times one call of a row of compiling and ends")
    return parser.parse_args()


def allocator():
    """", ALLOCATOR" where another one than libc's was loaded before the program."""
    with open("/proc/self/maps") as maps:
        return ", tcmalloc" if "libtcmalloc" in maps.read() else ""


def give_up(*_):
    raise TooLong


class Rows:
    """The forms of the current row, and the fastest one for each number of threads.
    `finish(result)` returns when the device has computed the result."""

    def __init__(self, rows, finish=lambda result: None, set_threads=lambda threads: None,
                 sample_seconds=SAMPLE_SECONDS, names_all=False, cold_rows=None):
        self.rows, self.finish, self.set_threads = rows, finish, set_threads
        self.cold_rows = cold_rows or {}
        self.sample_seconds, self.names_all = sample_seconds, names_all
        self.row, self.forms, self.failures, self.fastest = None, {}, {}, {}

    def seconds_a_call(self, work, calls):
        begin = time.perf_counter()
        for _ in range(calls):
            result = work()
        self.finish(result)
        return (time.perf_counter() - begin) / calls

    def sample(self, work):
        first = self.seconds_a_call(work, 1)
        if first > self.sample_seconds:
            return self.seconds_a_call(work, 1)
        rough = self.seconds_a_call(work, 3)
        return self.seconds_a_call(work, max(1, math.floor(self.sample_seconds / (rough + 1e-8))))

    def waited(self, form):
        """The seconds of a call of the form that is waited for, as all of Kiln's are."""
        return min(self.seconds_a_call(self.forms[form], 1) for _ in range(9))

    def warm(self, work):
        """Runs the first calls; raises TooLong after FORM_SECONDS."""
        signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, FORM_SECONDS)
        try:
            for _ in range(WARM_CALLS):
                self.finish(work())
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def make(self, row, tiny):
        """One row at a time: some hold much memory. Forms that fail are left out."""
        self.row, self.forms, self.failures, self.fastest = None, {}, {}, {}
        for name, work in self.rows[row](tiny).items():
            try:
                self.warm(work)
                self.forms[name] = work
            except Exception as error:  # such as no C++ compiler, no memory
                self.failures[name] = type(error).__name__
                print(f"{row}, {name}: {error}", file=sys.stderr, flush=True)
        self.row = row

    def cold_seconds(self, row, form, threads, tiny):
        run = subprocess.run(
            [sys.executable, sys.argv[0], "--threads", str(threads), "--cold", row, form,
             "tiny" if tiny else "full"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=FORM_SECONDS, check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, PROCESSORS))
        return float(run.stdout)

    def run_cold(self, row, form, size):
        begin = time.perf_counter()
        self.finish(self.cold_rows[row][form](size == "tiny"))
        print(f"{time.perf_counter() - begin:.9e}")

    def cold_answer(self, row, threads, tiny):
        """The first one chooses the form. Forms that fail are left out."""
        if self.row != row:
            self.row, self.forms, self.fastest = row, {}, {}
        if threads in self.fastest:
            form = self.fastest[threads]
            return f"{self.cold_seconds(row, form, threads, tiny):.9e} {form}"
        times = {}
        for form in self.cold_rows[row]:
            try:
                times[form] = self.cold_seconds(row, form, threads, tiny)
            except subprocess.SubprocessError as error:
                print(f"{row}, {form}: {error}", file=sys.stderr, flush=True)
        if not times:
            return "none all forms failed"
        form = self.fastest[threads] = min(times, key=times.get)
        return f"{times[form]:.9e} {form}"

    def choose(self, threads):
        times = {name: min(self.sample(work) for _ in range(3))
                 for name, work in self.forms.items()}
        name = min(times, key=times.get)
        text = name
        if self.names_all:
            others = [f"{form} {1e3 * seconds:.3g} ms, waited {1e3 * self.waited(form):.3g} ms"
                      for form, seconds in times.items()]
            others += [f"{form} failed: {failure}" for form, failure in self.failures.items()]
            text += " (" + "; ".join(others) + ")"
        self.fastest[threads] = name, text

    def answer(self, row, threads, tiny):
        self.set_threads(threads)
        if self.row != row:
            self.make(row, tiny)
        if not self.forms:
            return "none " + ", ".join(f"{form}: {why}" for form, why in self.failures.items())
        if threads not in self.fastest:
            self.choose(threads)
        name, text = self.fastest[threads]
        return f"{self.sample(self.forms[name]):.9e} {text}"

    def serve(self, name):
        print("ready", name + allocator(), flush=True)
        for line in sys.stdin:
            row, threads, size = line.split()
            if row in self.cold_rows:
                print(self.cold_answer(row, int(threads), size == "tiny"), flush=True)
            elif row in self.rows:
                print(self.answer(row, int(threads), size == "tiny"), flush=True)
            else:
                print("none no such row", flush=True)
