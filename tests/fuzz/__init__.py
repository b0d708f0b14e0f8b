"""Random input of every kind, against enumeration and against the promise that no input raises a foreign error.

    PYTHONPATH=tests python -m fuzz --seconds 600 --seed 7
    PYTHONPATH=tests python -m fuzz --case models:7000123       # one case again, by itself

A case is a function of a random generator and an empty folder. It returns a word for what came of it, for the tally; it
fails by any exception that it lets through, by ending its process, by taking too long, or by taking too much memory.
"""
