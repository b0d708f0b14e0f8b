"""Random command lines, sensible and not, on good and bad files.

Whatever is typed: the exit status is 0, 1 or 2, the line about a fault of the program is not reached, no input is
changed, nothing is left behind, and what is called JSON is JSON.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from fuzz.mutations import damaged_bytes
from xspn.cli import main

FAULT = "fault of this program"
USAGE = 2


@cache
def good_files():
    """The files of a case by name: tables of all kinds, models learned from them, and things that are neither."""
    rng = np.random.default_rng(3)
    n = 60
    hot = rng.random(n) < 0.4
    guests = rng.random((n, 4)) < np.where(hot, 0.8, 0.3)[:, None]
    survey = ["name,hot,g0,g1,g2,g3,room,size"]
    for i in range(n):
        cells = [f"p{i}", "yes" if hot[i] else "no", *guests[i].astype(int).astype(str)]
        cells += [str(rng.choice(["red", "blue", "green"])), f"{rng.normal():.3f}"]
        survey.append(",".join("NA" if j and rng.random() < 0.04 else cell for j, cell in enumerate(cells)))
    bits = rng.integers(0, 2, (40, 5))
    paid = np.where(rng.random(80) < 0.3, 0.0, np.exp(rng.normal(size=80)).round(2))  # often zero, and skewed
    amounts = zip(paid, rng.poisson(20, 80), rng.random(80).round(3), rng.normal(1e6, 1e3, 80), strict=True)
    found = {
        "amounts.csv": "paid,age,share,far\n" + "\n".join(",".join(map(str, row)) for row in amounts) + "\n",
        "survey.csv": "\n".join(survey) + "\n",
        "new.csv": "\n".join([survey[0], "p,yes,1,0,,1,pink,0.5", "q,maybe,1,0,1,1,red,much"]) + "\n",
        "bits.csv": "a,b,c,d,e\n" + "\n".join(",".join(map(str, row)) for row in bits.tolist()) + "\n",
        "bare.data": "\n".join(" ".join(map(str, row)) for row in bits.tolist()) + "\n",
        "tabs.tsv": "u\tv\n" + "\n".join(f"{rng.normal():.4g}\t{rng.integers(0, 9)}" for _ in range(30)) + "\n",
        "odd.csv": 'US$ (C:\\new),"a,b",\x1b[31mred,=1+1\n'
        + "\n".join(f"{i % 2},{i % 3},x{i % 2},1" for i in range(30)),
        "constant.csv": "k,t,b\n" + "3.5,same,1\n" * 12,
        "huge.csv": "h,i\n" + "\n".join(f"{2**53 + i},{10**i}" for i in range(20)) + "\n",
        "one.csv": "a,b\n1,0\n",
        "empty.csv": "",
        "header.csv": "a,b\n",
        "ragged.csv": "a,b\n1\n1,2,3\n",
        "twice.csv": "a,a\n1,0\n0,1\n",
        "zero.csv": "a,b\n\0,1\n",
        "infinite.csv": "a,b\n" + "1e999,1\n2,0\n" * 9,
        "digits.csv": "id,k1,k2\n"
        + "".join(f"{'²' * i},{i * 10**7},{'9' * (5000 if i == 30 else 2)}{i}\n" for i in range(1, 31)),
        "notes.txt": "these are my notes\n",
        "fake.npz": "no archive",
        "fake.parquet": "no table",
        "foreign.json": '{"hello": 1}',
    }
    files = {name: text.encode() for name, text in found.items()}
    files["latin.csv"] = "a,b\n1,café\n0,thé\n".encode("latin-1")
    for name, arrays in (("bits.npz", {"X": bits}), ("two.npz", {"a": bits, "b": bits}), ("flat.npz", {"X": bits[0]})):
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        files[name] = stream.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        place(files, Path(folder))
        for model, arguments in {
            "model.json": ["survey.csv", "--exclude", "name"],
            "model.xspn": ["survey.csv", "--exclude", "name"],
            "class.json": ["survey.csv", "--exclude", "name", "--target", "room"],
            "bits.json": ["bits.csv"],
            "bare.json": ["bare.data", "--no-header"],
            "odd.json": ["odd.csv", "--header"],
            "reals.json": ["tabs.tsv"],
            "amounts.json": ["amounts.csv"],
        }.items():
            status, _, said = typed(["fit", *arguments, "-o", model], b"", Path(folder))
            assert status == 0, said
            files[model] = (Path(folder) / model).read_bytes()
        status, _, said = typed(["sample", "bits.json", "-n", "30", "-o", "bits.parquet"], b"", Path(folder))
        assert status == 0, said
        files["bits.parquet"] = (Path(folder) / "bits.parquet").read_bytes()
    files["truncated.json"] = files["model.json"][:500]
    return files


def place(files, folder):
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir(exist_ok=True)


def typed(arguments, stdin, folder):
    """Run a command line; return its status, and what it wrote to standard output and standard error."""
    here, before = os.getcwd(), (sys.stdin, sys.stdout, sys.stderr)
    out, err = io.BytesIO(), io.BytesIO()
    os.chdir(folder)
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    sys.stdout = io.TextIOWrapper(out, "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, "utf-8", errors="backslashreplace", write_through=True)  # as Python's own is
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = stop.code
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(ValueError):
                stream.flush()
        written = out.getvalue(), err.getvalue()  # before the wrappers go, and their streams with them
        sys.stdin, sys.stdout, sys.stderr = before
        os.chdir(here)
    return status, written[0], written[1].decode("utf-8", "replace")


# -- what is typed -----------------------------------------------------------------------------------------------------

WORDS = [
    "", " ", "-", "--", "-1", "0", "1", "2", "0.5", "1e999", "nan", "-inf", "x", "yes", "no", "*", "?", "[", "a=b", "=",
    "é", "count(*)", "count()", "\x1b[31m", "../up.json", "/dev/null", "folder", "nowhere/x.csv", "x" * 300, "\udcff",
    "99999999999999", "a\nb", "%s", "{}", "-o", "--json",
]  # fmt: skip
TABLES = (
    "survey.csv", "survey.csv", "bits.csv", "bits.csv", "bare.data", "tabs.tsv", "odd.csv", "constant.csv", "huge.csv",
    "one.csv", "empty.csv", "header.csv", "ragged.csv", "twice.csv", "zero.csv", "infinite.csv", "notes.txt", "new.csv",
    "fake.parquet", "latin.csv", "bits.npz", "two.npz", "flat.npz", "bits.parquet", "model.json", "fake.npz", "folder",
    "nowhere.csv", "digits.csv", "-",
)  # fmt: skip
MODELS = (
    "model.json", "model.json", "model.xspn", "class.json", "bits.json", "bare.json", "odd.json", "reals.json",
    "truncated.json", "foreign.json", "survey.csv", "folder", "nowhere.json", "damaged.json", "-",
)  # fmt: skip
COLUMNS = (
    "hot", "g0", "g1", "g*", "room", "size", "a", "b", "X0", "X1", "u", "v", "US$ (C:\\new)", "a,b", "=1+1", "nobody",
)  # fmt: skip
VALUES = (
    "yes", "no", "0", "1", "2", "red", "blue", "pink", "0.5", "-3", "1e30", "x0", "nan", "inf", "", "true", "1e-400",
    "²", "9" * 5000,
)  # fmt: skip
OUTPUTS = (
    "out.csv", "out.json", "out.parquet", "out.tsv", "out.xls", "-", "folder", "nowhere/out.csv", "survey.csv",
    "model.json", "out", "", "x" * 300 + ".csv", "/dev/full", "out.xspn",
)  # fmt: skip
PICTURES = ("out.png", "out.svg", "out.pdf", "out.docx", "folder", "nowhere/out.png", "model.json")


ANYTHING = (TABLES, MODELS, COLUMNS, VALUES)
THEMES = (  # tables, models, columns and values that belong together: what is typed about them is mostly answered
    (("survey.csv",), ("model.json", "model.xspn"), ("hot", "g0", "g1", "g*"), ("yes", "no", "1", "0")),
    (("survey.csv",), ("model.json", "class.json"), ("room", "size", "g0"), ("red", "blue", "0.5", "1")),
    (("bits.csv", "bits.npz", "bits.parquet"), ("bits.json",), ("a", "b", "c"), ("0", "1")),
    (("bare.data",), ("bare.json",), ("X0", "X1", "X*"), ("0", "1")),
    (("tabs.tsv",), ("reals.json",), ("u", "v"), ("0.5", "-3", "2")),
    (
        ("amounts.csv",),
        ("amounts.json",),
        ("paid", "age", "share", "far"),
        ("0", "1", "20", "0.5", "1e6", "-1", "1e300"),
    ),
    (("odd.csv",), ("odd.json",), ("US$ (C:\\new)", "a,b", "=1+1", "\x1b[[]31mred"), ("0", "1", "x0")),
    (("constant.csv", "huge.csv", "one.csv"), ("model.json",), ("k", "t", "h"), ("3.5", "same", "1")),
    (("digits.csv",), ("model.json",), ("k*", "k1", "id", "*"), ("²", "1", "99")),
)


class Typist:
    """Types command lines: mostly what is meant to be typed, now and then something else."""

    def __init__(self, rng):
        self.rng = rng
        theme = THEMES[int(rng.integers(len(THEMES)))] if rng.random() < 0.75 else ANYTHING
        self.tables, self.models, self.names, self.values = theme

    def one(self, *options):
        if self.rng.random() < 0.04:
            options = WORDS
        return str(options[int(self.rng.integers(len(options)))])

    def some(self, most, make):
        return [make() for _ in range(int(self.rng.integers(1, most + 1)))]

    def maybe(self, chance, *words):
        return [word() if callable(word) else word for word in words] if self.rng.random() < chance else []

    def table(self):
        return self.one(*self.tables)

    def model(self):
        return self.one(*self.models)

    def given(self):
        if self.rng.random() < 0.7:
            return f"{self.one(*self.names)}={self.one(*self.values)}"
        relation = self.one("<", "<=", ">", ">=", "!=", "in", "not in", "in ..", "≥", "=>")
        ends = [
            self.one(*self.values),
            f"{self.one(*self.values)}..{self.one(*self.values)}",
            f"{{{self.one(*self.values)}}}",
        ]
        first = f"{self.one(*self.names)} {relation} {self.one(*ends)}"
        return first if self.rng.random() < 0.6 else f"{first} {self.one('&', '|', 'and not', 'or')} {self.given()}"

    def reading(self):
        return [
            *self.maybe(0.05, "--delimiter", lambda: self.one(",", ";", "\\t", " ", ";;", '"', "\n", "a")),
            *self.maybe(0.05, lambda: self.one("--header", "--no-header")),
            *self.maybe(0.05, "--missing", lambda: self.one("NA", "p1", "0", "no")),
            *self.maybe(
                0.05, "--encoding", lambda: self.one("utf-8", "latin-1", "utf-16", "klingon", "rot13", "base64")
            ),
        ]

    def columns(self):
        kinds = ("real", "ordinal", "categorical", "binary", "no|yes", "red<blue<green", "0|1", "a|a", "|", "<", "")
        return [
            *(
                ["--exclude", self.one("name", "name", "name", "g*", "*", "nobody")]
                if self.tables[0] == "survey.csv"
                else []
            ),
            *self.maybe(0.15, "--domains", lambda: f"{self.one(*self.names)}={self.one(*kinds)}"),
            *self.maybe(0.05, "--domains", lambda: self.one(*kinds)),
        ]

    def learning(self):
        return [
            *self.maybe(0.05, "--quality", lambda: self.one("fast", "balnced")),
            *self.maybe(
                0.2, "--min-instances", lambda: self.one("1", "5", "20", "0", "-1", "1e3", "999999999999999999999")
            ),
            *self.maybe(0.1, "--independence-threshold", lambda: self.one("5", "0", "-1", "1e9", "nan", "inf")),
            *self.maybe(0.1, "--significance", lambda: self.one("0.01", "0", "1", "2", "nan")),
            *self.maybe(0.1, "--smoothing", lambda: self.one("0.1", "0", "-1", "1e308", "nan", "1e-320")),
            *self.maybe(
                0.1, "--exchangeability", lambda: self.one("evidence", "global", "pairwise", "full", "none", "globl")
            ),
            *self.maybe(
                0.1, "--clustering", lambda: self.one("contexts", "bernoulli", "variable", "gmm", "kmeans", "k")
            ),
            *self.maybe(
                0.1, "--leaf-learner", lambda: self.one("evidence", "factorized", "exchangeable", "chow_liu", "blocks")
            ),
            *self.maybe(0.05, "--n-estimators", lambda: self.one("2", "0", "-3")),
            *self.maybe(0.05, "--jobs", lambda: self.one("1", "0", "-5")),
            *self.maybe(0.1, "--seed", self.seed),
        ]

    def seed(self):
        return self.one("0", "7", "-1", "99999999999999999999999", "1.5")

    def output(self, chance):
        return self.maybe(chance, "-o", lambda: self.one(*OUTPUTS))

    def json(self):
        return self.maybe(0.4, "--json")

    def line(self):
        """A command line, with its words in disorder now and then."""
        command = self.one("fit", "fit", "score", "query", "query", "sample", "impute", "classify", "show", "test",
                           "check", "compare", "convert", "explore", "segments", "recommend", "report", "datasets",
                           "reproduce", "demo")  # fmt: skip
        words = [command, *getattr(self, f"of_{command}", list)()]
        if self.rng.random() < 0.08 and command not in ("reproduce", "demo"):  # a word less, and they work for minutes
            del words[int(self.rng.integers(len(words)))]
        if self.rng.random() < 0.08:
            words.insert(int(self.rng.integers(len(words) + 1)), self.one(*WORDS))
        return words

    def of_fit(self):
        out = [
            "-o",
            self.one("out.json", "out.json", "out.xspn", "-", "survey.csv", "folder", "nowhere/m.json", "/dev/full"),
        ]
        return [
            self.table(), *out, *self.columns(), *self.learning(), *self.reading(), *self.json(),
            *self.maybe(0.25, "--valid", lambda: self.one("0.2", "0.5", "0", "1", "1e-9", "nan", *self.tables)),
            *self.maybe(0.25, "--target", lambda: self.one(*self.names)),
            *self.maybe(0.05, "--checkpoint", "check.json"), *self.maybe(0.05, "--verbose"),
            *self.maybe(0.02, "--cluster", lambda: self.one("nowhere", "tcp://127.0.0.1:1", "")),
        ]  # fmt: skip

    def of_score(self):
        return [self.model(), self.table(), *self.output(0.4), *self.reading(), *self.json()]

    def of_query(self):
        def question():
            return self.one(
                *self.names, self.given(), f"count({self.one(*self.names)})", f"count({self.given()})", "count(g0, g1)"
            )

        return [
            self.model(), *(["--given", *self.some(3, self.given)] if self.rng.random() < 0.6 else []),
            *(["--ask", *self.some(3, question)] if self.rng.random() < 0.6 else []), *self.maybe(0.3, "--best"),
            *self.maybe(0.1, "--best-rows", lambda: self.one("1", "3", "0", "-1", "x")),
            *self.maybe(0.1, "--best-of", lambda: self.one(*self.names)),
            *self.maybe(0.1, "--information", lambda: self.one(*self.names)),
            *self.maybe(0.1, "--why"), *self.maybe(0.1, "--next"),
            *self.maybe(0.1, "--interval", lambda: self.one("0.9", "0.5", "0", "1", "nan")),
            *self.maybe(0.05, "--plot", lambda: self.one(*PICTURES)), *self.json(),
        ]  # fmt: skip

    def of_check(self):
        return [
            self.table(), *self.maybe(0.5, "--model", self.model), *self.columns(), *self.reading(), *self.json(),
            *self.maybe(0.2, "--fdr", lambda: self.one("0.5", "0", "1", "nan")),
            *self.maybe(0.4, "--folds", lambda: self.one("2", "3", "1", "-1")),
            *self.maybe(0.2, "--set-aside", lambda: self.one("0.05", "0.9", "1", "nan")),
            *self.maybe(0.2, "--top", lambda: self.one("0", "1", "-1")), *self.maybe(0.2, "--seed", self.seed),
            *self.maybe(0.2, "-o", lambda: self.one("out.html", *OUTPUTS)),
        ]  # fmt: skip

    def of_segments(self):
        return [self.model(), *self.maybe(0.7, self.table), *self.output(0.3), *self.reading(), *self.json()]

    def of_report(self):
        return [
            self.model(), self.table(), *self.maybe(0.3, "--test", self.table), *self.reading(),
            *self.maybe(0.9, "-o", lambda: self.one("out.html", "out.md", *OUTPUTS)), *self.maybe(0.5, "--no-refit"),
            *self.maybe(0.2, "--title", lambda: self.one(*self.names, "</script>")),
        ]  # fmt: skip

    def of_recommend(self):
        return [
            self.model(), *self.some(3, lambda: self.one(*self.names)), *self.maybe(0.3, "--baskets", self.table),
            *self.maybe(0.3, "-k", lambda: self.one("1", "0", "-1", "999")), *self.output(0.3), *self.json(),
        ]  # fmt: skip

    def of_compare(self):
        return [
            self.model(), self.model(), *self.maybe(0.4, "-n", lambda: self.one("2", "100", "1", "-3", "x", "9" * 30)),
            *self.maybe(0.2, "--seed", self.seed), *self.json(),
        ]  # fmt: skip

    def of_convert(self):
        return [self.model(), "-o", self.one("out.json", "out.xspn", "out.jpc", "out.spn", "out.psdd", "-", *OUTPUTS)]

    def of_sample(self):
        return [
            self.model(), *self.maybe(0.5, "-n", lambda: self.one("0", "1", "5", "-3", "1e3", "9" * 30)),
            *(["--given", *self.some(2, self.given)] if self.rng.random() < 0.4 else []),
            *self.maybe(0.3, "--seed", self.seed), *self.output(0.5), *self.json(),
        ]  # fmt: skip

    def of_impute(self):
        return [
            self.model(), self.table(),
            *self.maybe(0.5, "--method", lambda: self.one("marginal", "mpe", "sample", "mean")),
            *self.maybe(0.2, "--seed", self.seed), *self.output(0.5), *self.json(), *self.reading(),
        ]  # fmt: skip

    def of_classify(self):
        return [
            self.model(),
            self.table(),
            "--target",
            self.one(*self.names),
            *self.output(0.4),
            *self.json(),
            *self.reading(),
        ]

    def of_show(self):
        return [
            self.model(), *self.maybe(0.3, "--depth", lambda: self.one("1", "3", "0", "99")),
            *self.maybe(0.2, "--most", lambda: self.one("1", "0", "50")),
            *self.maybe(0.3, "--why", lambda: self.one("0", "1", "5", "-1", "999")),
            *self.maybe(0.3, lambda: self.one("--full", "--tree")),
            *self.maybe(0.06, lambda: self.one("--png", "--svg", "--map", "--contexts"), lambda: self.one(*PICTURES)),
            *self.json(),
        ]  # fmt: skip

    def of_explore(self):
        return [
            self.model(), "--no-open",
            *self.maybe(0.7, "-o", lambda: self.one("out.html", "out.html", "-", "folder", "nowhere/x", "model.json")),
            *self.maybe(0.4, "--data", self.table),
            *self.maybe(0.2, "--title", lambda: self.one(*self.names, "</script>")), *self.reading(),
        ]  # fmt: skip

    def of_test(self):
        return [
            self.table(), *self.columns(), *self.maybe(0.3, "--level", lambda: self.one("0.01", "0", "1", "nan", "2")),
            *self.maybe(0.05, "--png", lambda: self.one(*PICTURES)), *self.json(), *self.reading(),
        ]  # fmt: skip

    def of_datasets(self):
        name = self.one("exact", "parity", "MEVM-s", "threshold", "conference", "senate", "nltcs", "nobody", "all")
        few = ["--n-train", "5", "--n-valid", "2", "--n-test", self.one("2", "0", "-1")]
        make = [
            "make",
            name,
            "--out",
            self.one("folder", "new", "survey.csv", "a/b"),
            *few,
            *self.maybe(0.3, "--seed", self.seed),
        ]
        action = [["list"], ["info", name], ["fetch", name], make, ["list", "--group", self.one("real", "x")]]
        return [*action[int(self.rng.integers(len(action)))], *self.json()]

    def of_reproduce(self):
        return [
            self.one("table1", "table2", "pairwise", "ablation", "table9"), "--report-only", "--quick",
            *self.maybe(0.3, "--datasets", lambda: self.one("exam", "senate", "nobody")),
            *self.maybe(0.3, "--models", lambda: self.one("SPN", "XSPN-TF", "nobody")),
            *self.maybe(0.8, "--out", lambda: self.one("results", "folder", "survey.csv", "nowhere/x")),
            *self.maybe(0.4, "--merge", lambda: self.one("folder", "nowhere", "survey.csv", ".")),
            *self.maybe(0.2, "--seed", self.seed), *self.maybe(0.1, "--jobs", lambda: self.one("0", "1", "-7")),
        ]  # fmt: skip

    def of_demo(self):
        return [self.one("--help", "--seed", "--sed", "x")]


# -- what must hold ----------------------------------------------------------------------------------------------------


def case(rng, folder):
    """Type one command line."""
    typist = Typist(rng)
    files = dict(good_files())
    files["damaged.json"] = damaged_bytes(rng, files["model.json"])
    if rng.random() < 0.1:
        name = str(rng.choice(["survey.csv", "bits.npz", "bits.parquet", "bits.csv"]))
        files[name] = damaged_bytes(rng, files[name])
    place(files, folder)
    arguments = typist.line()
    stdin = [b"", files["survey.csv"], files["model.json"], files["bits.csv"], b"\xff\0"][int(rng.integers(5))]
    status, out, err = typed(arguments, stdin, folder)
    shown = f"xspn {' '.join(map(repr, arguments))}"
    assert status in (0, 1, USAGE), f"status {status!r}: {shown}"
    assert FAULT not in err, f"{err.strip()[:300]}: {shown}"
    assert "Traceback" not in err, f"a traceback: {shown}"
    if status == USAGE:
        said = [line for line in err.strip().splitlines() if not line.startswith("  ")]  # below it, what it points at
        assert said[-1].lstrip("\r").startswith("xspn"), f"no reason was said: {shown}"
    check_files(files, folder, arguments, shown)
    if status == 0 and "--json" in arguments and "--help" not in arguments and out:
        strict_json(out, shown)
    return {0: "done", 1: "failed", USAGE: "refused"}[status]


WRITTEN_TO = ("-o", "--output", "--plot", "--png", "--svg", "--map", "--contexts", "--checkpoint")


def check_files(files, folder, arguments, shown):
    """No input was changed, nothing is left behind, and a file that is called JSON is JSON."""
    outputs = {word for before, word in pairwise(arguments) if before in WRITTEN_TO}
    inputs = {word for before, word in pairwise(["", *arguments]) if before not in WRITTEN_TO}
    for name, content in files.items():
        if (name in inputs or name not in outputs) and (folder / name).read_bytes() != content:
            raise AssertionError(f"an input was replaced, {name}: {shown}")
    left = [path.name for path in folder.rglob("*") if path.name.endswith(".part")]
    assert not left, f"{left[0]} was left behind: {shown}"
    for path in folder.glob("out*.json"):
        strict_json(path.read_bytes(), shown)


def strict_json(text, shown):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON: {shown}")

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError as error:
        raise AssertionError(f"no JSON ({error}): {shown}") from error


def prepare():
    """Learn the models that commands are typed about."""
    good_files()


TARGETS = {"commands": case}
