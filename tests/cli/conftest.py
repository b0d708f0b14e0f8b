"""A small survey as a file, a model of it, and a way to run the command."""

import csv

import numpy as np
import pytest

from xspn.cli import main

GUESTS = [f"attends_{i}" for i in range(6)]


def survey_rows():
    """Answers of 300 people: a topic, who attends, whether the room overflows; some cells are missing."""
    rng = np.random.default_rng(0)
    hot = rng.random(300) < 0.4
    guests = rng.random((300, 6)) < np.where(hot, 0.8, 0.3)[:, None]
    over = guests.sum(axis=1) > 4
    rows = [["name", "hot_topic", *GUESTS, "overflow"]]
    for i in range(300):
        cells = [
            f"person {i}",
            "yes" if hot[i] else "no",
            *("1" if own else "0" for own in guests[i]),
            "true" if over[i] else "false",
        ]
        rows.append([("NA" if j and rng.random() < 0.03 else cell) for j, cell in enumerate(cells)])
    return rows


@pytest.fixture(scope="session")
def survey_text():
    return "".join(",".join(row) + "\n" for row in survey_rows())


@pytest.fixture
def survey(tmp_path, survey_text):
    path = tmp_path / "survey.csv"
    path.write_text(survey_text, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def model_text(tmp_path_factory, survey_text):
    folder = tmp_path_factory.mktemp("model")
    (folder / "survey.csv").write_text(survey_text, encoding="utf-8")
    assert main(["fit", str(folder / "survey.csv"), "-o", str(folder / "model.json"), "--exclude", "name"]) == 0
    return (folder / "model.json").read_text(encoding="utf-8")


@pytest.fixture
def model(tmp_path, model_text):
    path = tmp_path / "model.json"
    path.write_text(model_text, encoding="utf-8")
    return path


@pytest.fixture
def run(capfdbinary):
    """Run the command; return its status, standard output and standard error."""

    def call(*arguments):
        capfdbinary.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return call


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))
