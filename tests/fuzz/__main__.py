"""Run random cases for some time, or one case again."""

import os

# Before anything is imported that looks at them: threads do not survive a fork, cases run side by side, and allocators
# that set address space aside beforehand meet the limit of memory for no reason of ours.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from fuzz import circuits, commands, estimators, files, requests, tables
from fuzz.workers import Pool, run_case

MODULES = (circuits, files, tables, estimators, commands, requests)
TARGETS = {name: case for module in MODULES for name, case in module.TARGETS.items()}
SHARES = {"circuits": 3.0, "densities": 2.0, "commands": 2.0}  # of the time; 1 for others
SEEDS = 1_000_000  # of one base seed
EVERY = 30.0  # seconds between two lines of progress
LIMIT = 60.0  # seconds for one case


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for how long to try new cases (default: 600)")
    parser.add_argument("--seed", type=int, help="the base seed; a random one, which is printed, by default")
    parser.add_argument("--only", default="", metavar="TARGETS", help=f"some of {','.join(TARGETS)}")
    parser.add_argument("--case", metavar="TARGET:SEED", help="run one case again, in this process")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds for one case (default: {LIMIT:g})")
    args = parser.parse_args(arguments)
    chosen = [name for name in args.only.split(",") if name] or list(TARGETS)
    unknown = [name for name in chosen if name not in TARGETS]
    if unknown:
        parser.error(f"unknown target {unknown[0]!r}")
    with tempfile.TemporaryDirectory(prefix="xspn-fuzz-") as scratch:
        isolate(Path(scratch))
        if args.case is not None:
            target, _, seed = args.case.partition(":")
            return one_again(target, int(seed), scratch)
        base = int.from_bytes(os.urandom(3)) if args.seed is None else args.seed
        return many(chosen, base, args, scratch)


def isolate(scratch):
    """No network, no files of this user: what a case finds depends on its seed alone."""
    os.environ.update(
        XSPN_CACHE=str(scratch / "cache"),
        XSPN_DOWNLOAD_BASE=(scratch / "nowhere").as_uri(),
        COLUMNS="80",
        NO_COLOR="1",
        XSPN_TRACEBACK="1",  # a fault of the program is an exception with a place, not a line
    )
    os.environ.pop("XSPN_DATA", None)


def prepare():
    """Make what cases have in common, once, before any process is forked."""
    for module in MODULES:
        module.prepare()


def one_again(target, seed, scratch):
    prepare()
    outcome = run_case(target, TARGETS[target], seed, scratch)
    say(f"{target}:{seed}: {outcome.failure or outcome.word} in {outcome.seconds:.2f} s")
    if outcome.failure:
        say(outcome.trace)
    return int(bool(outcome.failure))


def many(chosen, base, args, scratch):
    """Run cases until the time is over; the target that is furthest behind its part of the time goes next."""
    say(f"seed {base}, {args.seconds:g} s, {', '.join(chosen)}")
    started = time.monotonic()
    prepare()
    say(f"prepared in {time.monotonic() - started:.0f} s")
    begun = said = time.monotonic()
    spent, given = dict.fromkeys(chosen, 0.0), Counter()
    words, failures = defaultdict(Counter), defaultdict(list)

    def next_task():
        if time.monotonic() - begun > args.seconds:
            return None
        target = min(chosen, key=lambda name: spent[name] / SHARES.get(name, 1.0))
        spent[target] += 1e-3  # until its time is known
        given[target] += 1
        return target, base * SEEDS + given[target] - 1

    pool = Pool({name: TARGETS[name] for name in chosen}, scratch, args.jobs, args.limit)
    for outcome in pool.run(next_task):
        spent[outcome.target] += outcome.seconds
        words[outcome.target][outcome.failure or outcome.word] += 1
        if outcome.failure:
            if outcome.signature not in failures:
                say(f"{outcome.failure} at {outcome.target}:{outcome.seed}: {outcome.cause[:300]} [{outcome.place}]")
            failures[outcome.signature].append(outcome)
        if time.monotonic() - said > EVERY:
            said = time.monotonic()
            say(f"{said - begun:.0f} s: {sum(given.values())} cases, {sum(map(len, failures.values()))} failures")
    return report(words, failures, time.monotonic() - begun)


def report(words, failures, seconds):
    say("")
    for target, own in words.items():
        say(f"{target:<12} {sum(own.values()):>6} cases: {', '.join(f'{n} {word}' for word, n in own.most_common())}")
    for outcomes in failures.values():
        first = outcomes[0]
        say(f"\n{first.failure}, {len(outcomes)} times, {first.cause[:300]} [{first.place}]")
        say(f"again: python -m fuzz --case {first.target}:{first.seed}")
        say(first.trace)
    total = sum(sum(own.values()) for own in words.values())
    kinds = Counter(outcome.failure for outcomes in failures.values() for outcome in outcomes)
    found = ", ".join(
        f"{kinds[kind]} {plural}"
        for kind, plural in (
            ("crash", "crashes"),
            ("raw exception", "raw exceptions"),
            ("disagreement", "disagreements"),
            ("too slow", "too slow"),
            ("too much memory", "with too much memory"),
        )
    )
    say(f"{total} cases in {seconds:.0f} s: {found}")
    return int(bool(failures))


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
