"""Wrong invocations: one line that helps, exit code 2 (1 where it is not the user's fault), nothing half written."""

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from xspn import Bernoulli, Circuit, Product, save
from xspn.cli import main


@pytest.fixture
def files(tmp_path, survey, model, monkeypatch):
    """A folder with a good table, a good model, and things that are wrong in many ways."""
    monkeypatch.chdir(tmp_path)
    lines = survey.read_text(encoding="utf-8").splitlines()
    text = model.read_text(encoding="utf-8")
    contents = {
        "empty.csv": "",
        "blank.csv": "\n  \n",
        "header.csv": lines[0] + "\n",
        "ragged.csv": "\n".join([*lines[:4], "person,yes,1", *lines[4:]]),
        "twice.csv": "a,b,a\n1,0,1\n0,1,1\n",
        "nameless.csv": "a,,c\n1,0,1\n0,1,1\n",
        "quote.csv": 'a,b\n1,0\n"1,0\n0,1\n',
        "zero.csv": "a,b\n1,0\n\x001,0\n",
        "text_in_numbers.csv": "a,b\n1,0.5\n0,1.25\n1,much\n0,2.5\n1,3.5\n",
        "infinite.csv": "a,b\n" + "1,0.5\n0,1.25\n" * 4 + "1,1e999\n",
        "other.csv": "hot_topik,overflow\nyes,true\n",
        "label.csv": lines[0] + "\n" + lines[1].replace("no", "perhaps").replace("yes", "perhaps") + "\n",
        "value.csv": ",".join(["hot_topic", *(f"attends_{i}" for i in range(6)), "overflow"])
        + "\nyes,7,0,0,0,0,0,true\n",
        "truncated.json": text[: len(text) // 2],
        "altered.json": text.replace('"p": 0.', '"p": 0.1', 1),
        "foreign.json": '{"hello": 1}',
        "notes.txt": "these are my notes\n",
        "future.json": text.replace('"schema": 2', '"schema": 99', 1),
        "superscripts.csv": "ka,kb\n" + "²,³\n³,²\n" * 15,
        "digits.csv": f"ka,kb\n{'9' * 5000},1\n2,3\n" + "".join(f"{'9' * 5000}{i},{i}\n" for i in range(30)),
        "steps.csv": "ka,kb\n" + "1000000000,3\n5,99999\n" * 10,
        "joined.csv": "a,b\n1,0\n0,1\n" * 6,
        "samples.data": '[\n{"a": 1, "b": 0},\n{"a": 0, "b": 1}\n]\n',
        "notable.npz": "no npz at all",
        "notable.parquet": "no parquet at all",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "latin.csv").write_bytes("a,b\n1,caf\xe9\n".encode("latin-1"))
    (tmp_path / "folder").mkdir()
    np.savez(tmp_path / "two.npz", a=np.zeros((2, 2)), b=np.zeros((2, 2)))
    np.savez(tmp_path / "objects.npz", X=np.array([[None, 1]], dtype=object))
    np.savez(tmp_path / "cube.npz", X=np.zeros((2, 2, 2)))
    np.savez(tmp_path / "complex.npz", X=np.zeros((2, 2), dtype=complex))
    np.savez(tmp_path / "rowless.npz", X=np.zeros((0, 3)))
    np.savez(tmp_path / "square_names.npz", X=np.zeros((4, 4)), names=np.zeros((2, 2)))
    whole = (tmp_path / "two.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(tmp_path / "liar.npz", "w") as archive:
        header = io.BytesIO()
        shape = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 1)}
        np.lib.format.write_array_header_1_0(header, shape)
        archive.writestr("X.npy", header.getvalue())
    (tmp_path / "notes.npy.npz").write_bytes(b"\x93NUMPY\x01\x00")
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(b"a,b\n1,0\n")[:-9])
    (tmp_path / "half.parquet").write_bytes(b"PAR1" + bytes(50) + b"PAR1")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "link.csv").symlink_to("survey.csv")
    (tmp_path / "second_name.csv").hardlink_to(tmp_path / "survey.csv")
    (tmp_path / "model.csv").symlink_to("model.json")
    return tmp_path


FIT = ["fit", "survey.csv", "--exclude", "name"]
OUT = ["-o", "out.json"]
WRONG = {
    "a format that may not hold it": (
        [*FIT, "-o", "m.psdd"],
        "-o: a learned model is written as .xspn or .json; 'xspn convert'",
    ),
    "missing table": (["fit", "nowhere.csv", *OUT], "nowhere.csv: no such file"),
    "missing model": (["query", "nowhere.json"], "nowhere.json: no such file"),
    "a folder as a table": (["fit", "folder", *OUT], "folder: expected a file, found a folder"),
    "a folder as a model": (["query", "folder"], "folder: expected a model file, found a folder"),
    "a folder as the output": ([*FIT, "-o", "folder"], "folder: expected a file, found a folder"),
    "an output in no folder": ([*FIT, "-o", "nowhere/out.json"], "nowhere: no such folder"),
    "an empty table": (["fit", "empty.csv", *OUT], "empty.csv: the file is empty"),
    "a blank table": (["fit", "blank.csv", *OUT], "blank.csv: the file is empty"),
    "a header only": (["fit", "header.csv", "--header", *OUT], "header.csv: there is a header and nothing below it"),
    "ragged rows": (["fit", "ragged.csv", *OUT], "ragged.csv, line 5: expected 9 cells as in line 1, found 3"),
    "a name twice": (["fit", "twice.csv", "--header", *OUT], "twice.csv, line 1: the name 'a' occurs twice"),
    "no name": (["fit", "nameless.csv", "--header", *OUT], "nameless.csv, line 1: column 2 has no name"),
    "an open quotation": (["fit", "quote.csv", *OUT], "quote.csv, line 3: "),
    "a zero byte": (["fit", "zero.csv", *OUT], "zero.csv, line 3: a zero byte"),
    "another encoding": (["fit", "latin.csv", *OUT], "latin.csv, line 2: not utf-8 text (byte 0xe9)"),
    "an unknown encoding": ([*FIT, *OUT, "--encoding", "klingon"], "--encoding: unknown encoding 'klingon'"),
    "a long delimiter": ([*FIT, *OUT, "--delimiter", ";;"], "--delimiter: expected one character"),
    "text among numbers": (
        ["fit", "text_in_numbers.csv", *OUT],
        "text_in_numbers.csv: expected a number, found 'much' at line 4, column 'b'",
    ),
    "infinity": (["fit", "infinite.csv", *OUT], "infinite.csv: expected a finite number, found inf at line 10"),
    "excluding what is not there": (
        ["fit", "survey.csv", "--exclude", "names", *OUT],
        "--exclude: there is no column 'names'; did you mean 'name'?",
    ),
    "excluding everything": (["fit", "survey.csv", "--exclude", "*", *OUT], "survey.csv: no column is left"),
    "a domain of no column": ([*FIT, *OUT, "--domains", "hot=real"], "--domains: there is no column 'hot'"),
    "an unknown domain": ([*FIT, *OUT, "--domains", "hot_topic=reel"], "found 'reel'"),
    "text as real": ([*FIT, *OUT, "--domains", "hot_topic=real"], "expected numbers, found 'no' at line 2"),
    "a type said twice": (
        [*FIT, *OUT, "--domains", "attends_1=real", "attends_1=binary"],
        "--domains: 'attends_1' is both 'real' and 'binary'; say one of them",
    ),
    "superscripts as a scale": (
        ["fit", "superscripts.csv", *OUT, "--domains", "k*=ordinal"],
        "expected whole numbers from 0 in 'k*'",
    ),
    "thousands of digits as a scale": (
        ["fit", "digits.csv", *OUT, "--domains", "k*=ordinal"],
        "expected numbers below 1024 as the steps that the columns 'k*' share, found inf",
    ),
    "thousands of digits": (["fit", "digits.csv", *OUT], "expected a finite number, found inf at line 2, column 'ka'"),
    "a scale of a billion steps": (
        ["fit", "steps.csv", *OUT, "--domains", "k*=ordinal"],
        "expected numbers below 1024 as the steps that the columns 'k*' share, found 1e+09",
    ),
    "lines that end cells": (
        [*FIT, *OUT, "--delimiter", "\n"],
        "--delimiter: expected one character, not one that ends",
    ),
    "names that were not seen": (
        ["fit", "joined.csv", *OUT],
        "found 'a' at line 1, column 'X0'; say so if the first line holds names (on the command line: --header)",
    ),
    "a model as a table": (["fit", "model.json", *OUT], "model.json: JSON, or a model; tables are CSV"),
    "samples as a table": (["test", "samples.data"], "samples.data: JSON, or a model; tables are CSV"),
    "more rows than there can be": (
        ["sample", "model.json", "-n", "9" * 30],
        "rows of 8 columns needs about",
    ),
    "a folder to be as the output": ([*FIT, "-o", "models/"], "'models/': expected the name of a file to write to"),
    "a fraction above one": ([*FIT, *OUT, "--valid", "1.5"], "--valid: expected a fraction between 0 and 1"),
    "a fraction of nothing": ([*FIT, *OUT, "--valid", "0.0001"], "leaves nothing to learn from or to score"),
    "a negative seed": ([*FIT, *OUT, "--seed", "-1"], "--seed: expected a number of at least 0, found -1"),
    "no workers": ([*FIT, *OUT, "--jobs", "0"], "n_jobs: expected a number of workers"),
    "an unknown test": ([*FIT, *OUT, "--exchangeability", "globl"], "did you mean 'global'"),
    "a setting out of range": ([*FIT, *OUT, "--min-instances", "0"], "min_instances: expected a whole number"),
    "a target that is not there": ([*FIT, *OUT, "--target", "overflw"], "did you mean 'overflow'?"),
    "no output": (["fit", "survey.csv"], "the following arguments are required: -o/--output"),
    "an unknown option": ([*FIT, *OUT, "--excluded", "x"], "did you mean --exclude?"),
    "an unknown command": (["qeury"], "did you mean query?"),
    "not a number": (["sample", "model.json", "-n", "few"], "argument -n: invalid int value: 'few'"),
    "a negative number of rows": (["sample", "model.json", "-n", "-5"], "-n: expected a number of rows of at least 0"),
    "an unknown column": (["query", "model.json", "--ask", "overflw"], "did you mean 'overflow'?"),
    "evidence on an unknown column": (["query", "model.json", "--given", "hot=yes"], "there is no column 'hot'"),
    "evidence of an unknown value": (
        ["query", "model.json", "--given", "hot_topic=perhaps"],
        "--given: unknown value 'perhaps' at 'hot_topic'; known: 'no', 'yes'",
    ),
    "evidence without a value": (["query", "model.json", "--given", "hot_topic"], "expected NAME=VALUE"),
    "evidence that contradicts itself": (
        ["query", "model.json", "--given", "hot_topic=yes", "hot_topic=no"],
        "'hot_topic' is given twice, with different values",
    ),
    "counting nothing": (["query", "model.json", "--ask", "count()"], "expected count(NAME, …)"),
    "counting what is not there": (["query", "model.json", "--ask", "count(guest_*)"], "there is no column 'guest_*'"),
    "a truncated model": (["query", "truncated.json"], "truncated.json: not a complete JSON text"),
    "an altered model": (["query", "altered.json"], "altered.json: the content does not match its digest"),
    "another JSON": (["query", "foreign.json"], "foreign.json: not a circuit file"),
    "a text as a model": (["score", "notes.txt", "survey.csv"], "notes.txt: not a complete JSON text"),
    "a table as a model": (["score", "survey.csv", "survey.csv"], "survey.csv: not a complete JSON text"),
    "a model of the future": (["query", "future.json"], "written in schema 99, this version reads up to 2; upgrade"),
    "a table without a column": (
        ["score", "model.json", "other.csv"],
        "the table lacks the column 'hot_topic' that the model knows; did you mean 'hot_topic' by 'hot_topik'?",
    ),
    "a table with a new label": (
        ["score", "model.json", "label.csv", "--header"],
        "label.csv: unknown value 'perhaps' at line 2, column 'hot_topic'; known: 'no', 'yes'",
    ),
    "a table with a value outside": (
        ["score", "model.json", "value.csv"],
        "value.csv: expected one of 0, 1, found 7 at line 2, column 'attends_0'",
    ),
    "two standard inputs": (["score", "-", "-"], "only one of model and table can come from standard input"),
    "an unknown ending": (["sample", "model.json", "-o", "rows.xls"], "rows.xls: expected a name ending in .csv"),
    "an unknown picture": (
        ["show", "model.json", "--png", "picture.docx"],
        "picture.docx: expected a name ending in .png",
    ),
    "why no node": (["show", "model.json", "--why", "999"], "--why: expected a node from 0 to "),
    "no depth": (["show", "model.json", "--depth", "0"], "--depth: expected a number of at least 1, found 0"),
    "an unknown method": (["impute", "model.json", "survey.csv", "--method", "median"], "invalid choice: 'median'"),
    "predicting what is not there": (
        ["classify", "model.json", "survey.csv", "--target", "overfow"],
        "--target: there is no column 'overfow'; did you mean 'overflow'?",
    ),
    "a level of two": (
        ["test", "survey.csv", "--exclude", "name", "--level", "2"],
        "--level: expected a number between",
    ),
    "not an npz": (["fit", "notable.npz", *OUT], "notable.npz: not an npz file"),
    "not a Parquet file": (["fit", "notable.parquet", *OUT], "notable.parquet: not a Parquet file"),
    "object arrays": (["fit", "objects.npz", *OUT], "objects.npz: not an npz file of plain arrays (Object arrays"),
    "an array of three axes": (["fit", "cube.npz", *OUT], "cube.npz: expected one 2-D array"),
    "complex numbers": (["fit", "complex.npz", *OUT], "complex.npz: expected one 2-D array"),
    "an array without rows": (["fit", "rowless.npz", *OUT], "rowless.npz: expected rows and columns"),
    "names in a square": (
        ["fit", "square_names.npz", *OUT],
        "expected a list of names, found an array",
    ),
    "half an npz": (["fit", "cut.npz", *OUT], "cut.npz: not an npz file"),
    "an npz that promises too much": (["fit", "liar.npz", *OUT], "liar.npz: not an npz file"),
    "an npy as npz": (["fit", "notes.npy.npz", *OUT], "notes.npy.npz: not an npz file"),
    "a packed table": (["fit", "packed.csv.gz", *OUT], "packed.csv.gz: a gzip file that is damaged or cut off"),
    "half a Parquet file": (["fit", "half.parquet", *OUT], "half.parquet: not a Parquet file"),
    "a strange encoding": ([*FIT, *OUT, "--encoding", "punycode"], "survey.csv: not punycode text"),
    "a model over its table": ([*FIT, "-o", "survey.csv"], "survey.csv: the output would replace what is read"),
    "a model over its table by a link": ([*FIT, "-o", "link.csv"], "link.csv: the output would replace what is read"),
    "a model over its table by another name": ([*FIT, "-o", "second_name.csv"], "would replace what is read (survey"),
    "a model over its other table": (
        [*FIT, "--valid", "label.csv", "-o", "./label.csv"],
        "label.csv: the output would replace what is read (label.csv); name another file",
    ),
    "samples over the model": (["sample", "model.json", "-o", "model.json"], "would replace what is read (model.json)"),
    "samples over the model by a link": (["sample", "model.json", "-o", "model.csv"], "would replace what is read"),
    "scores over the table": (["score", "model.json", "survey.csv", "-o", "link.csv"], "would replace what is read"),
    "filled cells over the table": (["impute", "model.json", "survey.csv", "-o", "survey.csv"], "would replace"),
    "predictions over the table": (
        ["classify", "model.json", "survey.csv", "--target", "overflow", "-o", "survey.csv"],
        "would replace what is read",
    ),
    "one picture over another": (
        ["show", "model.json", "--png", "a.png", "--map", "./a.png"],
        "a.png: named for two outputs",
    ),
    "a model over its checkpoint": (
        ["fit", "half.parquet", "-o", "c.json", "--checkpoint", "c.json", "--cluster", "local"],
        "c.json: named for two outputs",
    ),
    "an output without a name": ([*FIT, "-o", ""], "'': expected the name of a file to write to"),
    "an output with a zero byte": ([*FIT, "-o", "a\0b"], "a zero byte in 'a\\x00b'"),
    "an input with a zero byte": (["query", "a\0b"], "a zero byte in 'a\\x00b'"),
    "an output below a file": ([*FIT, "-o", "survey.csv/out.json"], "survey.csv/out.json: not a directory"),
    "an output with a long name": ([*FIT, "-o", "a" * 300], "file name too long; name another file"),
    "an output with too long a name for a while": ([*FIT, "-o", "a" * 250], "file name too long; name another file"),
    "an output that is a loop": ([*FIT, "-o", "loop.json"], "loop.json: too many levels of symbolic links"),
    "a model that is a loop": (["query", "loop.json"], "loop.json: too many levels of symbolic links"),
    "results below a file": (["reproduce", "figure1", "--out", "survey.csv/x"], "--out: expected a folder"),
    "escapes in an argument": (["query", "model.json", "--ask", "\x1b[31m"], r"there is no column '\x1b[31m'"),
    "escapes in the name of a file": (["query", "\x1b[31m.json"], r"\x1b[31m.json: no such file"),
    "escapes in an option": (["query", "model.json", "--\x1b[31m"], r"unrecognized arguments: --\x1b[31m"),
    "two arrays": (["fit", "two.npz", *OUT], "two.npz: expected one 2-D array, or one named 'X', found ['a', 'b']"),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_one_line_that_helps(files, run, name):
    arguments, message = WRONG[name]
    before = sorted(files.iterdir())
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    line, *pointer = err.splitlines()
    assert message in line
    if pointer:  # of questions the character is shown
        assert arguments[0] == "query"
        text, caret = pointer
        assert caret.strip() == "^"
        assert len(caret) <= len(text) + 1
    assert "Traceback" not in err
    assert sorted(files.iterdir()) == before, "nothing was written"


def test_there_are_at_least_thirty():
    assert len(WRONG) >= 30


def test_an_archive_out_of_all_proportion_is_not_unpacked(files, run, monkeypatch):
    monkeypatch.setattr("xspn.data.binary_files.MOST_BYTES", 100_000)
    np.savez_compressed("bomb.npz", X=np.zeros((100_000, 2)))
    status, out, err = run("fit", "bomb.npz", *OUT)
    assert (status, out) == (2, "")
    assert "bomb.npz: not an npz file of plain arrays (1,600,128 bytes in " in err


def test_impossible_evidence_is_said_plainly(tmp_path, run):
    save(Circuit(Product([Bernoulli(0, p=1.0), Bernoulli(1, p=0.5)]), names=["sun", "rain"]), tmp_path / "model.json")
    for arguments in (["--ask", "rain"], ["--best"]):
        status, out, err = run("query", tmp_path / "model.json", "--given", "sun=0", *arguments)
        assert (status, out) == (2, "")
        assert "--given: sun=0 has probability zero under this model; nothing can be concluded from it" in err
    status, out, err = run("sample", tmp_path / "model.json", "--given", "sun=0")
    assert (status, out) == (2, "")
    assert "probability zero" in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("command", ["fit", "sample", "impute", "score"])
def test_a_full_disk(files, run, command):
    arguments = {
        "fit": [*FIT, "-o", "/dev/full"],
        "sample": ["sample", "model.json", "-o", "full.csv"],
        "impute": ["impute", "model.json", "survey.csv", "-o", "full.csv"],
        "score": ["score", "model.json", "survey.csv", "-o", "full.csv"],
    }[command]
    if command != "fit":
        (files / "full.csv").symlink_to("/dev/full")
    before = sorted(files.iterdir())
    status, out, err = run(*arguments)
    assert status == 1
    assert out == ""
    assert err == "xspn: no space left on device\n"
    assert sorted(files.iterdir()) == before
    assert os.path.exists("/dev/full")
    assert not os.path.isfile("/dev/full"), "the device is still one"


def program(*arguments, stdout):
    """Run the command as a program of its own; return its status and standard error."""
    script = "import sys; from xspn.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, timeout=120, check=False)
    return done.returncode, done.stderr.decode()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_standard_output_on_a_full_disk(files):
    with open("/dev/full", "wb") as full:
        assert program("sample", "model.json", stdout=full) == (1, "xspn: no space left on device\n")


def test_a_closed_pipe_is_no_error(files):
    reading, writing = os.pipe()
    os.close(reading)
    assert program("sample", "model.json", "-n", "2000", stdout=writing) == (0, "")
    os.close(writing)


def test_a_folder_that_cannot_be_written_to(files, run, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # whoever runs the tests: root may write anywhere
    for arguments in ([*FIT, "-o", "folder/out.json"], ["sample", "model.json", "-o", "folder/rows.csv"]):
        status, out, err = run(*arguments)
        assert (status, out) == (2, "")
        assert "folder: nothing can be written to this folder" in err


def test_faults_of_the_program_are_one_line_too(files, run, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("a very\nlong story")

    monkeypatch.setattr("xspn.cli.sample.read_model", fail)
    status, out, err = run("sample", "model.json")
    assert (status, out) == (1, "")
    assert err == "xspn: a fault of this program (RuntimeError: a very long story); XSPN_TRACEBACK=1 shows where\n"
    monkeypatch.setenv("XSPN_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        main(["sample", "model.json"])


def test_an_interrupted_fit_leaves_the_old_model(files, run, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("xspn.io.json_format._digest", interrupt)
    before = (files / "model.json").read_text(encoding="utf-8")
    status, _, err = run(*FIT, "-o", "model.json")
    assert status == 130
    assert err == "xspn: interrupted\n"
    assert json.loads((files / "model.json").read_text(encoding="utf-8")) == json.loads(before)
