"""Processes that run cases one after the other, each under a limit of memory and of time.

A case may end its process (a segmentation fault, a bus error) or never return; then the process is replaced, and the
case is reported with the stack that Python was in. Workers are forked from a process that has imported and compiled
everything, so that a new one costs milliseconds.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import re
import resource
import shutil
import signal
import time
import traceback
import warnings
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np

MEMORY = 1 << 30  # bytes of address space that a case may take, beside what the process has to begin with
CASES_OF_A_WORKER = 150  # then a new one: what one case leaves behind must not add up
MOST_FRAMES = 12
UNSAFE = ("programs",)  # one that writes where it must not may bring down the case after it: it is its process's last
DIGITS = re.compile(r"\d+")
FATAL = ("crash", "too slow", "too much memory")  # failures after which a process is not to be trusted


@dataclass(frozen=True)
class Outcome:
    """What came of a case: a word for the tally, or a failure with its cause and place."""

    target: str
    seed: int
    seconds: float
    word: str
    failure: str = ""  # "", "disagreement", "raw exception", "crash", "too slow", "too much memory"
    cause: str = ""
    place: str = ""
    trace: str = ""

    @property
    def signature(self):
        """What failures of one cause have in common."""
        what = self.cause.split(":")[: 2 if self.failure == "disagreement" else 1]
        return self.target, self.failure, *(DIGITS.sub("0", part) for part in what), self.place.rpartition(" ")[2]


def run_case(target, case, seed, scratch):
    """Run one case in this process."""
    folder = Path(scratch) / f"{target}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    started, here = time.monotonic(), os.getcwd()
    word, failure, error = "failed", "", None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # a stray overflow or a division by zero is a defect
            word = case(np.random.default_rng(seed), folder)
    except AssertionError as found:
        failure, error = "disagreement", found
    except MemoryError as found:
        failure, error = "too much memory", found
    except (Exception, SystemExit) as found:
        failure, error = "raw exception", found
    os.chdir(here)
    shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - started
    if error is None:
        return Outcome(target, seed, seconds, word)
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    return Outcome(target, seed, seconds, word, failure, cause, place_of(error), trace_of(error))


def place_of(error):
    """The last line of the package, or of the case where none is involved, that an error passed."""
    frames = traceback.extract_tb(error.__traceback__)
    for own in ("/src/xspn/", "/xspn/", "/fuzz/"):
        for frame in reversed(frames):
            if own in frame.filename:
                return f"{frame.filename.rpartition(own)[2]}:{frame.lineno} {frame.name}"
    return "?"


def trace_of(error):
    return "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-MOST_FRAMES))


class Worker:
    """A forked process that runs cases, and the case that it is at."""

    def __init__(self, targets, scratch, number, limit):
        self.log = Path(scratch) / f"worker-{number}.txt"
        self.limit, self.done = limit, 0
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, targets, scratch, self.log, limit))
        self.process.start()
        theirs.close()
        self.task, self.started = None, 0.0

    def give(self, target, seed):
        self.task, self.started = (target, seed), time.monotonic()
        self.pipe.send(self.task)

    def overdue(self):
        return self.task is not None and time.monotonic() - self.started > self.limit + 2

    def outcome(self):
        """The outcome of the task, after its process has answered, died, or outstayed its time; the last two end it."""
        target, seed = self.task
        seconds, slow = time.monotonic() - self.started, self.overdue()
        answered = False
        with contextlib.suppress(EOFError, ConnectionError):
            answered = self.pipe.poll() and self.pipe.recv()
        self.task = None
        if answered:
            self.done += 1
            return answered
        if not slow:
            self.process.join()  # the pipe ends a moment before the process does
        self.stop()
        code = self.process.exitcode
        stack = self.log.read_text(errors="replace") if self.log.exists() else ""
        cause = f"more than {self.limit:g} s" if slow else signal_name(code)
        place = next((line.strip() for line in stack.splitlines() if "/xspn/" in line), "?")
        place = place.rpartition("/xspn/")[2].replace('", line ', ":").replace(" in ", " ")
        return Outcome(target, seed, seconds, "failed", "too slow" if slow else "crash", cause, place, stack[:4000])

    def stop(self):
        """End this worker's own process."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()


def signal_name(code):
    return signal.Signals(-code).name if code is not None and code < 0 else f"ended by itself with status {code}"


def _serve(pipe, targets, scratch, log, limit):
    """Run what comes through the pipe until there is no more."""
    stack = open(log, "w", buffering=1)  # noqa: SIM115 - open for as long as the process lives
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    faulthandler.enable(stack)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    usual, most = resource.getrlimit(resource.RLIMIT_AS)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        if task is None:
            return
        target, seed = task
        stack.seek(0)
        stack.truncate()
        faulthandler.dump_traceback_later(limit, file=stack)
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY, most))
        try:
            outcome = run_case(target, targets[target], seed, scratch)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (usual, most))
            faulthandler.cancel_dump_traceback_later()
        pipe.send(outcome)


def _address_space():
    """The bytes of address space that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


class Pool:
    """Some workers; `run` hands out tasks and yields outcomes as they come."""

    def __init__(self, targets, scratch, jobs, limit):
        self.targets, self.scratch, self.limit = targets, scratch, limit
        self.number, self.workers = 0, []
        self.jobs = jobs

    def run(self, next_task):
        """Yield outcomes; `next_task` returns a target and a seed, or None when there is nothing more to do."""
        try:
            self.workers = [self._new() for _ in range(self.jobs)]
            for place in range(self.jobs):
                self._give(place, next_task())
            while any(worker.task for worker in self.workers):
                busy = {worker.process.sentinel: place for place, worker in enumerate(self.workers) if worker.task}
                busy |= {worker.pipe: place for place, worker in enumerate(self.workers) if worker.task}
                ready = {busy[key] for key in wait(list(busy), timeout=0.5)}
                for place, worker in enumerate(self.workers):
                    if place in ready or worker.overdue():
                        outcome = worker.outcome()
                        worn = worker.done >= CASES_OF_A_WORKER or outcome.target in UNSAFE
                        if outcome.failure in FATAL or worn:
                            worker.stop()
                            self.workers[place] = self._new()
                        yield outcome
                        self._give(place, next_task())
        finally:
            for worker in self.workers:
                worker.stop()

    def _new(self):
        self.number += 1
        return Worker(self.targets, self.scratch, self.number, self.limit)

    def _give(self, place, task):
        if task is not None:
            self.workers[place].give(*task)
