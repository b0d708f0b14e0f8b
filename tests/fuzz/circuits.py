"""Random circuits of every leaf family: every query, on every back end, against what the circuit means."""

import pickle
import warnings
from importlib.util import find_spec

import numpy as np
from scipy.stats import binom

from fuzz.building import random_circuit, random_rows
from fuzz.definition import Definition, log_sum
from fuzz.questions import check_questions
from xspn import (
    Bernoulli,
    Categorical,
    ChowLiu,
    Circuit,
    Exchangeable,
    Product,
    Sum,
    XSPNError,
    load,
    save,
)
from xspn.core.errors import EvidenceError, QueryError
from xspn.io import open_program, save_program

NAMES = tuple(name for name in ("numpy", "numba", "torch") if find_spec(name) is not None)  # back ends
LEAST_LOG_WEIGHT = -700.0
LEAST_LOG_DENSITY = -1e8  # below that rounding decides between components
LARGEST_MEAN = 1e100  # beyond it, given what is far away, no digits are left
LEAST_CHANCE = 1e-12  # of what is seen in samples; below that they contradict the circuit


def back_ends(circuit):
    """The same circuit on every back end, by name."""
    return {"automatic": circuit, **{name: circuit.to(name, threads=1) for name in NAMES}}


# -- comparing ---------------------------------------------------------------------------------------------------------


def close(found, expected, what, rtol=1e-11, atol=1e-10):
    """Equal up to rounding, infinities and missing values in the same places."""
    found, expected = np.broadcast_arrays(np.asarray(found, dtype=float), np.asarray(expected, dtype=float))
    same = np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    if not same.all():
        at = tuple(int(i[0]) for i in np.nonzero(~same))
        raise AssertionError(f"{what}: found {found[at]!r} at {at}, expected {expected[at]!r}")


def case(rng, folder):
    """Ask one random circuit everything."""
    circuit = random_circuit(rng)
    meaning = Definition(circuit)
    rows = random_rows(rng, circuit, meaning, 8)
    logs = meaning.log_likelihood(rows)
    assert abs(log_sum(meaning.joint(np.full(circuit.n_variables, np.nan)))) < 1e-9, "probabilities do not sum to 1"
    for name, asked in back_ends(circuit).items():
        close(asked.log_likelihood(rows), logs, f"log_likelihood, {name}")
        check_conditional(rng, asked, meaning, rows, logs, name)
        check_marginals(asked, meaning, rows, logs, name)
        check_completions(rng, asked, meaning, rows, logs, name)
        check_samples(rng, asked, meaning, rows, logs, name)
    check_single_precision(circuit, rows, logs)
    check_other_circuits(rng, circuit, meaning, rows, logs)
    check_moments(circuit, meaning)
    check_counts(rng, circuit, meaning, rows, logs)
    check_questions(rng, circuit, meaning, rows)
    check_copies(rng, circuit, meaning, rows, logs, folder)
    check_fit(circuit, rows, logs)
    check_pickles(rng, circuit, rows, logs)
    return "with reals" if meaning.real else "discrete"


def check_single_precision(circuit, rows, logs):
    """float32 is as near as its bound says."""
    for name in NAMES:
        if name == "numpy":  # which has one precision
            continue
        fast = circuit.to(name, dtype="float32")
        found, bound = fast.log_likelihood(rows), fast.error_bound
        np.testing.assert_array_equal(np.isneginf(found), np.isneginf(logs), err_msg=f"zero in float32, {name}")
        possible = np.isfinite(logs)
        # The bound holds for the parameters as rounded to float32: their logarithms differ by as much again.
        close(found[possible], logs[possible], f"float32, {name}", rtol=1e-5, atol=2 * bound + 1e-4)


def check_conditional(rng, asked, meaning, rows, logs, name):
    given = np.where(rng.random(rows.shape) < 0.5, rows, np.nan)
    other = random_rows(rng, meaning.circuit, meaning, len(rows))
    inside = np.zeros(rows.shape[1], dtype=bool)
    inside[meaning.scope] = True
    clash = (inside & ~np.isnan(given) & ~np.isnan(other) & (given != other)).any(axis=1)
    known = meaning.log_likelihood(given)
    if np.isneginf(known).any():
        refused(lambda: asked.conditional_log_likelihood(other, given), EvidenceError, f"conditional, {name}")
        return
    both = meaning.log_likelihood(np.where(np.isnan(given), other, given))
    found = asked.conditional_log_likelihood(other, given)
    size = np.max(np.abs(np.where(np.isfinite(both), both, 0.0)) + np.abs(known))
    close(found, np.where(clash, -np.inf, both - known), f"conditional, {name}", atol=1e-10 + 1e-13 * size)


def refused(ask, error, what):
    """What cannot be answered must be refused with this error."""
    try:
        ask()
    except error:
        return
    raise AssertionError(f"{what}: expected {error.__name__}, found an answer")


def check_marginals(asked, meaning, rows, logs, name):
    if np.isneginf(logs).any():
        refused(lambda: asked.marginals(rows), EvidenceError, f"marginals, {name}")
    rows = rows[logs > LEAST_LOG_DENSITY]
    if not len(rows):
        return
    found, means, variances = asked.marginals(rows), asked.means(rows), asked.variances(rows)
    for r, row in enumerate(rows):
        slack = 1e-14 * abs(log_sum(meaning.joint(row)))  # a difference of such logarithms has no more digits
        for v, chances in meaning.marginals(row).items():
            close(found[r, v, : len(chances)], chances, f"marginals, {name}", rtol=1e-9, atol=1e-11 + slack)
            close(means[r, v], chances @ np.arange(len(chances)), f"means, {name}", rtol=1e-9, atol=1e-10 + 4 * slack)
        moments = meaning.moments(row)
        if moments is not None:
            expected = moments[0][[meaning.scope.index(v) for v in meaning.real]]
            some = np.abs(expected) < LARGEST_MEAN
            close(means[r, meaning.real][some], expected[some], f"means, {name}", rtol=1e-8 + slack, atol=1e-8)
            left = np.diag(moments[1])[[meaning.scope.index(v) for v in meaning.real]]
            close(variances[r, meaning.real][some], left[some], f"variances, {name}", rtol=1e-6 + slack, atol=1e-8)


def check_completions(rng, asked, meaning, rows, logs, name):
    """Nothing missing, the evidence kept, the probability as stated; the best one where that is claimed."""
    if np.isneginf(logs).any():
        refused(lambda: asked.mpe(rows), EvidenceError, f"mpe, {name}")
        rows = rows[np.isfinite(logs)]
    if not len(rows):
        return
    for exact in (False, True):
        try:
            found = asked.mpe(rows, exact=exact)
        except QueryError:
            assert exact, "mpe refused a circuit"
            continue
        own, given = found.values[:, meaning.scope], rows[:, meaning.scope]
        assert not np.isnan(own).any(), f"mpe, {name}: missing values are left"
        assert ((own == given) | np.isnan(given)).all(), f"mpe, {name}: the evidence was changed"
        close(found.log_prob, meaning.log_likelihood(found.values), f"mpe's own log_prob, {name}")
        assert found.exact or not exact, f"mpe, {name}: exact=True is not exact"
        if not np.isnan(rows[:, meaning.real]).any():
            best = np.array([meaning.joint(row).max() for row in rows])
            assert (found.log_prob <= best + 1e-9 + 1e-12 * np.abs(best)).all(), f"mpe, {name}: better than the best"
            if found.exact:
                close(found.log_prob, best, f"mpe claims to be exact, {name}")
        elif found.exact:
            drawn = asked.sample(20, given=rows, random_state=int(rng.integers(2**31)))
            others = meaning.log_likelihood(drawn).reshape(len(rows), 20).max(axis=1)
            least = others - 1e-8 - 1e-11 * np.abs(others)
            assert (found.log_prob >= least).all(), f"mpe claims to be exact, {name}: a sample is better"


def check_samples(rng, asked, meaning, rows, logs, name):
    """Samples complete their evidence, are possible, come back with their seed, and are as frequent as they should."""
    possible, seed = rows[np.isfinite(logs)], int(rng.integers(2**31))
    if len(possible) < len(rows):
        refused(lambda: asked.sample(given=rows), EvidenceError, f"sample, {name}")
    drawn = asked.sample(given=possible, random_state=seed)
    own, given = drawn[:, meaning.scope], possible[:, meaning.scope]
    assert ((own == given) | np.isnan(given)).all(), f"sample, {name}: the evidence was changed"
    assert np.isfinite(meaning.log_likelihood(drawn)).all(), f"sample, {name}: something impossible was drawn"
    np.testing.assert_array_equal(drawn, asked.sample(given=possible, random_state=seed), err_msg=f"sample, {name}")
    count = 400
    drawn = asked.sample(count, random_state=seed)
    logs = meaning.joint(np.full(rows.shape[1], np.nan))
    for v in meaning.discrete:
        for k in range(meaning.sizes[v]):
            chance = float(np.clip(np.exp(log_sum(logs[meaning.all_assignments[:, v] == k])), 0, 1))
            check_frequency(int((drawn[:, v] == k).sum()), count, chance, f"sample, {name}, variable {v}")
    for v in meaning.real:
        value = float(np.median(drawn[:, v])) + float(rng.normal())
        chance = meaning.cumulative(v, value)
        if chance is not None:
            check_frequency(int((drawn[:, v] <= value).sum()), count, chance, f"sample, {name}, variable {v}")


def check_frequency(seen, count, chance, what):
    """Refuse what would be seen less than once in a million million times."""
    tail = min(binom.cdf(seen, count, chance), binom.sf(seen - 1, count, chance))
    assert tail > LEAST_CHANCE or abs(seen / count - chance) < 1e-9, f"{what}: {seen} of {count}, expected {chance:.3g}"


def check_other_circuits(rng, circuit, meaning, rows, logs):
    """Marginalised, conditioned and simplified circuits mean what they should."""
    close(circuit.simplify().log_likelihood(rows), logs, "simplify")
    kept = [v for v in meaning.scope if rng.random() < 0.5] or meaning.scope[:1]
    hidden = np.full_like(rows, np.nan)
    hidden[:, kept] = rows[:, kept]
    close(circuit.marginalize(kept).log_likelihood(rows), meaning.log_likelihood(hidden), "marginalize")
    known = np.where(rng.random(rows.shape[1]) < 0.4, rows[int(rng.integers(len(rows)))], np.nan)
    evidence = meaning.log_likelihood(known[None])[0]
    if np.isneginf(evidence):
        refused(lambda: circuit.condition(known), EvidenceError, "condition")
    elif not np.isnan(known[meaning.scope]).any():
        refused(lambda: circuit.condition(known), QueryError, "condition on everything")
    else:
        expected = meaning.log_likelihood(np.where(np.isnan(known), rows, known)) - evidence
        found = circuit.condition(known).log_likelihood(rows)
        # Weights are floats: a component that the evidence makes less probable than 1e-308 is gone for good, and may be
        # what explains a row that is less probable still.
        plain = (expected > LEAST_LOG_WEIGHT) | np.isneginf(expected)
        # Numbers far from zero are rounded in proportion to their size, whatever the deviation is.
        atol = 1e-8 + 1e-13 * float(np.nanmax(np.abs(rows))) if meaning.real else 1e-10
        close(found[plain], expected[plain], "condition", atol=atol + 1e-13 * abs(evidence))


def check_moments(circuit, meaning):
    expected = meaning.moments(np.full(circuit.n_variables, np.nan))
    if expected is None:
        return
    found, own = circuit.moments(), meaning.scope
    mean, covariance = expected
    deviation = np.sqrt(np.diag(covariance))
    close(found.mean[own], mean, "mean", rtol=1e-12, atol=1e-9)
    scale = 1e-6 * np.outer(deviation, deviation) + 1e-12
    far = np.abs(found.covariance[np.ix_(own, own)] - covariance) > scale
    assert not far.any(), f"covariance: {found.covariance[np.ix_(own, own)][far][:3]}, expected {covariance[far][:3]}"


def check_counts(rng, circuit, meaning, rows, logs):
    binary = [v for v in meaning.discrete if meaning.sizes[v] == 2]
    if not binary:
        return
    chosen = [int(v) for v in rng.permutation(binary)[: int(rng.integers(1, len(binary) + 1))]]
    row = rows[int(rng.integers(len(rows)))]
    for given in (np.full_like(row, np.nan), row):
        if np.isneginf(log_sum(meaning.joint(given))):
            refused(lambda given=given: circuit.count_distribution(chosen, given), EvidenceError, "count_distribution")
        else:
            found = circuit.count_distribution(chosen, given)
            close(found, meaning.count_distribution(chosen, given), "count_distribution", rtol=1e-9, atol=1e-11)


def check_copies(rng, circuit, meaning, rows, logs, folder):
    """Files, pickles and programs answer as the circuit does."""
    same = circuit.log_likelihood(rows)
    for name in ("model.json", "model.xspn"):
        save(circuit, folder / name)
        again = load(folder / name)
        np.testing.assert_array_equal(again.log_likelihood(rows), same, err_msg=name)
        assert again.names == circuit.names
        assert again.domains == circuit.domains
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(circuit)).log_likelihood(rows), same, err_msg="pickle")
    save_program(circuit, folder / "program")
    opened = open_program(folder / "program")
    close(opened.log_likelihood(rows), logs, "program")
    check_marginals(opened, meaning, rows, logs, "program")
    if np.isfinite(logs).any():
        possible = rows[np.isfinite(logs)]
        assert opened.mpe(possible).exact == circuit.mpe(possible).exact, "program: another claim of exactness"


def check_pickles(rng, circuit, rows, logs):
    """A circuit on a back end travels to other processes."""
    name, asked = list(back_ends(circuit).items())[int(rng.integers(len(back_ends(circuit))))]
    close(pickle.loads(pickle.dumps(asked)).log_likelihood(rows), logs, f"pickle, {name}")


def check_fit(circuit, rows, logs):
    """EM does not make the rows less probable."""
    possible = rows[np.isfinite(logs)]
    if not len(possible):
        return
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "EM lowered"
            )  # it also says so where rounding lowers it; by how much, below
            fitted = circuit.fit_parameters(possible, n_iter=2, tol=0.0)
    except XSPNError:
        return
    before, after = logs[np.isfinite(logs)].mean(), fitted.log_likelihood(possible).mean()
    assert after >= before - 1e-8 * (1 + abs(before)), f"EM lowered the likelihood from {before} to {after}"


def prepare():
    """Compile all kernels before anything is timed: in every precision, for rows that underflow and for others."""
    bits = [Bernoulli(0, p=0.25), ChowLiu([1, 2], [-1, 0], [[0.5, 0.5], [0.1, 0.8]]), Exchangeable.uniform([3, 4])]
    unlikely = [Bernoulli(v, p=1e-30) for v in range(5, 20)]
    rare = Categorical(20, [0.5, 0.25, 0.25])
    for leaves_of_one in ([*bits, *unlikely], [*bits, *unlikely, rare]):
        circuit = Circuit(Sum([0.25, 0.75], [Product(leaves_of_one), Product(leaves_of_one)]))
        rows = np.full((3, circuit.n_variables), np.nan)
        rows[0], rows[1, 5:18] = 1, 1
        for name in NAMES:
            for dtype in ("float64", "float32"):
                if (name, dtype) != ("numpy", "float32"):
                    ask_all(circuit.to(name, dtype=dtype), rows)


def ask_all(asked, rows):
    """Ask whatever has kernels of its own."""
    asked.log_likelihood(rows)
    asked.marginals(rows)
    asked.means(rows)
    asked.mpe(rows)
    asked.sample(given=rows, random_state=0)
    asked.backend.counts(rows, np.ones(len(rows)))


TARGETS = {"circuits": case}
