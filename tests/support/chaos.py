"""Mixed load while models are swapped, files damaged, workers killed; all answers are compared with the library's."""

import asyncio
import hashlib
import json
import os
import signal
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from support.running import run
from support.serving import PATIENCE, Running, connected, get, request
from xspn import Circuit, save
from xspn.estimators.base import completed
from xspn.questions import replies

CLIENTS = 12


@dataclass
class Outcome:
    """What became of the requests of a chaos run."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lost: Counter[int] = field(default_factory=Counter)  # requests that each client lost with a killed worker
    lost_otherwise: int = 0  # a client has one connection, so a killed worker can take one request of it
    kills: int = 0
    swaps: int = 0
    damaged: int = 0
    told: int = 0  # damaged files that /readyz told of
    versions: Counter[str] = field(default_factory=Counter)

    def lose(self, client: int) -> None:
        """Note a request that was lost."""
        if self.lost[client] < self.kills:
            self.lost[client] += 1
        else:
            self.lost_otherwise += 1

    def __str__(self) -> str:
        return (
            f"chaos: {sum(self.statuses.values()):,} answers {dict(self.statuses)}, {len(self.wrong)} wrong; "
            f"{self.swaps} swaps, answers by version {sorted(self.versions.values())}; {self.told} of {self.damaged} "
            f"damaged files told by /readyz; {self.kills} workers killed, {self.lost.total()} requests lost with "
            f"them, {self.lost_otherwise} lost otherwise"
        )


def variant(circuit: Circuit, seed: int) -> Circuit:
    """Return the circuit with other parameters."""
    rows = circuit.sample(60, random_state=seed)
    return circuit.fit_parameters(rows, n_iter=2, smoothing=1.0)


def questions(circuit: Circuit, number: int, rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """Return a question of some kind about random evidence."""
    schema = circuit.schema
    row = circuit.sample(1, random_state=number)[0]
    inside = [j for j in range(len(schema)) if schema.domains[j] is not None]
    known = {schema.shown_name(j): schema.label(j, row[j]) for j in inside if rng.random() < 0.3}
    first = schema.shown_name(inside[number % len(inside)])
    kinds = ("marginals", "score", "marginals", "impute", "mpe", "query", "sample", "marginals")
    kind = kinds[number % len(kinds)]
    if kind == "query":
        return kind, {"given": known, "ask": [f'"{first}"']}
    if kind == "sample":
        return kind, {"given": known, "n": 3, "seed": number}
    return kind, {"rows": [known]}


def expected(circuit: Circuit, kind: str, body: dict[str, Any]) -> Any:
    """Return what the library answers."""
    own, schema = circuit.to("numba", threads=1), circuit.schema
    codes = np.full((1, len(schema)), np.nan)
    for name, value in (body["rows"][0] if "rows" in body else body["given"]).items():
        j = schema.shown_names.index(name)
        codes[0, j] = next(code for code in range(schema.domains[j].cardinality) if schema.label(j, code) == value)
    if kind == "marginals":
        return own.marginals(codes).tolist()
    if kind == "score":
        return own.log_likelihood(codes).tolist()
    if kind == "mpe":
        return own.mpe(codes).values.tolist()
    if kind == "impute":
        return completed(own, codes, "marginal", 0).tolist()
    if kind == "sample":
        return own.sample(body["n"], given=codes[0], random_state=body["seed"]).tolist()
    return replies(own.backend, schema, body["ask"], codes[0])["answers"]


def found(circuit: Circuit, kind: str, answer: Any) -> Any:
    """Return what an answer says, in the form of `expected`."""
    schema = circuit.schema
    if kind == "marginals":
        return [[list(row[name].values()) for name in schema.shown_names] for row in answer["rows"]]
    if kind == "score":
        return answer["log_likelihoods"]
    if kind == "query":
        return answer["answers"]
    codes = {
        name: {schema.label(j, code): float(code) for code in range(schema.domains[j].cardinality)}
        for j, name in enumerate(schema.shown_names)
    }
    return [[codes[name][row[name]] for name in schema.shown_names] for row in answer["rows"]]


def chaos(circuit: Circuit, folder: Path, seconds: float, swap: float, kills: int, n_questions: int = 48) -> Outcome:
    """Load a service of two workers for about some seconds: until the last trouble is over.

    Args:
        circuit: A circuit over discrete columns.
        folder: Where the model's file may be.
        seconds: How long.
        swap: Seconds between two swaps of the model; every fourth one is a damaged file.
        kills: How many times a worker is killed.
        n_questions: How many different questions are asked.
    """
    rng, path, outcome = np.random.default_rng(0), folder / "model.json", Outcome()
    models = [circuit, variant(circuit, 1), variant(circuit, 2)]
    asked = [questions(circuit, number, rng) for number in range(n_questions)]
    answers = [[expected(model, kind, body) for kind, body in asked] for model in models]
    contents, versions = [], {}
    for number, model in enumerate(models):
        save(model, path)
        contents.append(path.read_bytes())
        versions[hashlib.sha256(contents[-1]).hexdigest()[:16]] = number
    _replace(path, contents[0])
    wire = [request(f"/v1/models/model/{kind}", json.dumps(body).encode()) for kind, body in asked]
    with Running(str(path), "--workers", "2") as service:
        is_over: list[bool] = []

        async def client(number: int) -> None:
            connection, place = await connected(service.port), number
            while not is_over:
                place = (place + 7) % len(asked)
                try:
                    whole = await connection.ask(wire[place])
                except (ConnectionError, OSError):
                    outcome.lose(number)
                    connection = await connected(service.port)
                    continue
                head, _, body = whole.partition(b"\r\n\r\n")
                outcome.statuses[int(whole[9:12])] += 1
                version = head.partition(b"xspn-model-version: ")[2].partition(b"\r\n")[0].decode()
                kind = asked[place][0]
                if whole[9:12] != b"200" or found(circuit, kind, json.loads(body)) != answers[versions[version]][place]:
                    outcome.wrong.append(f"{kind} {version} {body[:200]!r}")
                outcome.versions[version] += 1
                if b"connection: close" in head:
                    connection = await connected(service.port)
            connection.close()

        async def trouble() -> None:
            current, steps = 0, max(round(seconds / swap), 4)
            due = {steps * (k + 1) // (kills + 1) for k in range(kills)}
            for step in range(1, steps + 1):
                await asyncio.sleep(swap)
                outcome.swaps += 1
                if step % 4 == 3:
                    outcome.damaged += 1
                    _replace(path, contents[0][: len(contents[0]) // 2])
                    outcome.told += await _tells(service.port)
                else:
                    current = (current + 1) % len(contents)
                    _replace(path, contents[current])
                if step in due:
                    alive = await asyncio.to_thread(service.workers)
                    outcome.kills += 1
                    os.kill(alive[outcome.kills % len(alive)], signal.SIGKILL)
            last = time.monotonic() + PATIENCE
            while len(outcome.versions) < 2 and time.monotonic() < last:
                await asyncio.sleep(swap)
            is_over.append(True)

        async def main() -> None:
            await asyncio.gather(trouble(), *(client(number) for number in range(CLIENTS)))

        run(main())
        assert service.stop() == 0
    return outcome


def _replace(path: Path, content: bytes) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(content)
    os.replace(other, path)


async def _tells(port: int) -> bool:
    """Return whether some worker tells of a damaged file, however busy the machine is."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(OSError):  # a worker that was killed may have had the question
            status, _, body = await asyncio.to_thread(get, port, "/readyz")
            if status == 200 and json.loads(body)["models"]["model"]["state"] == "stale":
                return True
        await asyncio.sleep(0.05)
    return False
