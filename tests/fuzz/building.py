"""Random circuits of every leaf family, small enough to be enumerated, and rows for them."""

import numpy as np

from fuzz.definition import log_sum
from support.circuits import Builder
from xspn import (
    Atom,
    Bernoulli,
    BetaBinomial,
    Categorical,
    ChowLiu,
    Circuit,
    Exchangeable,
    ExchangeableGaussian,
    Gaussian,
    MultivariateGaussian,
    Product,
    Sum,
    Transformed,
)
from xspn.leaves import Scale, leaves

MOST_ASSIGNMENTS = 256
TINY = (1e-9, 1e-20, 1e-160, 1e-300)


class AnyBuilder(Builder):
    """Grows circuits over discrete and real variables (cardinality None), with extreme parameters if asked to."""

    extreme = False
    scale = 1.0

    def __init__(self, *args):
        super().__init__(*args)
        self.scales = {}

    def chance(self):
        """A probability, sometimes 0 or 1, sometimes hardly more than 0 or less than 1."""
        kind = self.rng.random()
        if kind < 0.1:
            return float(kind < 0.05)
        if self.extreme and kind < 0.4:
            tiny = float(self.rng.choice(TINY))
            return tiny if kind < 0.3 else 1 - tiny
        return float(self.rng.random())

    def weights(self, count):
        if self.extreme and count > 1 and self.rng.random() < 0.4:
            weights = self.rng.random(count)
            weights[int(self.rng.integers(count))] = self.rng.choice(TINY)
            return weights / weights.sum()
        return super().weights(count)

    def _leaf(self, variables, k):
        if k is None:
            return self.real_leaf(variables)
        if k == 2 and self.rng.random() < 0.2:
            dispersion = float(self.rng.choice([0.0, 1e-6, 0.5, 3.0, 1e6]))
            return BetaBinomial(variables, mean=self.chance(), dispersion=dispersion)
        return super()._leaf(variables, k)

    def real_leaf(self, variables):
        """A normal distribution of one of the families or independent ones, plain or on scales, or a single value."""
        n, kind = len(variables), self.rng.random()
        if kind < 0.3:
            return self.on_scales(variables)
        if n == 1 and kind < 0.5:
            return self.atom(variables[0])
        mean, spreads = self.rng.normal(size=n) * 3 * self.scale, [self.spread() for _ in variables]
        return self.normal(variables, mean, spreads, alike=True)

    def normal(self, variables, mean, spreads, alike):
        """A normal distribution of one of the families, or independent ones."""
        n, kind = len(variables), self.rng.random()
        if n == 1 or kind < 0.3:
            own = [Gaussian(v, float(m), s) for v, m, s in zip(variables, mean, spreads, strict=True)]
            return own[0] if n == 1 else Product(own)
        if kind < 0.6 and alike:
            correlation = float(self.rng.uniform(-1 / (n - 1), 1) * 0.95)
            return ExchangeableGaussian(variables, float(mean[0]), spreads[0], correlation)
        factor = self.rng.normal(size=(n, n)) + 2 * np.eye(n)
        covariance = factor @ factor.T + 0.01 * np.eye(n)  # nearly singular ones have not the digits to be compared
        return MultivariateGaussian(variables, mean, covariance * np.outer(spreads, spreads) / 4)

    def atom(self, variable):
        """A single value: often one that other leaves of the variable can have."""
        scale = self.scale_of(variable)
        value = float(scale.presented(np.array(scale.low + scale.unit * self.rng.choice([0.25, 0.5]))))
        return Atom(variable, value, width=scale.step or float(self.rng.choice([1e-6, 0.1])) * abs(scale.unit))

    def on_scales(self, variables):
        """A normal distribution on the scales of the variables."""
        scales = [self.scale_of(v) for v in variables]
        sizes = np.array([abs(scale.unit) if scale.kind in ("soft", "plain") else 1.0 for scale in scales])  # of y
        middle = np.array([scale.low if scale.kind == "plain" else 0.0 for scale in scales])
        spreads = sizes * self.rng.choice([0.2, 0.5, 1e-3 if self.extreme else 1.0], size=len(sizes))
        alike = len({*zip(sizes.tolist(), middle.tolist(), strict=True)}) == 1
        base = self.normal(variables, middle + sizes * self.rng.normal(size=len(sizes)), spreads.tolist(), alike)
        parts = base.children if isinstance(base, Product) else [base]
        of = dict(zip(variables, scales, strict=True))
        own = [Transformed(part, [of[v] for v in part.variables]) for part in parts]
        return own[0] if len(own) == 1 else Product(own)

    def scale_of(self, variable):
        """A scale; mostly leaves of a variable have the same one, as learned ones do."""
        known = self.scales.setdefault(variable, [])
        if not known or self.rng.random() < 0.2:
            known.append(self.new_scale())
        return known[int(self.rng.integers(len(known)))]

    def new_scale(self):
        """A scale of any kind, sometimes in steps, sometimes with an end at which numbers are reflected."""
        kind, sign = str(self.rng.choice(Scale.KINDS)), 1.0
        unit = float(self.rng.choice([1.0, 2.5, 0.3])) * max(1.0, self.scale / 1e4)
        low = round(float(self.rng.normal()) * 3 * self.scale, 2)
        if kind in ("log", "soft") and self.rng.random() < 0.3:
            sign = -1.0
        step = float(self.rng.choice([1.0, 0.5, 0.1, 0.01])) if self.rng.random() < 0.4 else 0.0
        end, chosen = low + sign * float(self.rng.choice([0.0, 0.25])) * unit, self.rng.random()
        ends = {} if chosen < 0.7 else {"least": end} if sign > 0 else {"most": end}
        return Scale(kind, low=low, unit=sign * unit, step=step, **ends)

    def spread(self):
        """A deviation, not so small beside the means that rounding these would move a density."""
        return float(self.rng.choice([1.0, 0.3, 1e-3 if self.extreme else 2.0])) * max(1.0, self.scale / 1e4)

    def _categorical(self, variables, k):
        if not self.extreme or self.rng.random() < 0.5:
            return super()._categorical(variables, k)
        p = self.rng.random(k)
        p[int(self.rng.integers(k))] = self.rng.choice(TINY)
        return Categorical(variables[0], p / p.sum())

    def _bernoullis(self, variables, k):
        own = [Bernoulli(v, p=self.chance()) for v in variables]
        return own[0] if len(own) == 1 else Product(own)

    def _chow_liu(self, variables, k):
        if not self.extreme:
            return super()._chow_liu(variables, k)
        n = len(variables)
        parents = [-1, *(int(self.rng.integers(-1, i)) for i in range(1, n))]
        p = np.array([[self.chance(), self.chance()] for _ in range(n)])
        roots = np.array(parents) < 0
        p[roots, 1] = p[roots, 0]
        return ChowLiu(variables, parents, p)

    def _exchangeable(self, variables, k):
        if not self.extreme or self.rng.random() < 0.5:
            return super()._exchangeable(variables, k)
        n = len(variables)
        statistic = self.statistic(n, k, nested=True)
        logs = np.log(self.rng.dirichlet(np.ones(statistic.size(n))))
        logs -= self.rng.choice([0.0, 50.0, 800.0], size=len(logs))
        return Exchangeable(variables, logs - log_sum(logs) - statistic.log_class_size(n), statistic)


def random_circuit(rng):
    """A circuit small enough to be enumerated; now and then one of examples that the leaf families give."""
    if rng.random() < 0.08:
        return of_examples(rng)
    kinds = [[2] * 6, [2, 2, 2, 3, 4], [2, 3, None, None], [None] * 3 + [2]][int(rng.integers(4))]
    sizes, n_assignments = [], 1
    for k in rng.choice(np.array(kinds, dtype=object), size=int(rng.integers(1, 10))):
        if n_assignments * (k or 1) <= MOST_ASSIGNMENTS:
            sizes.append(k)
            n_assignments *= k or 1
    width = len(sizes) + int(rng.integers(0, 3))
    columns = sorted(int(c) for c in rng.choice(width, size=len(sizes), replace=False))
    builder = AnyBuilder(rng, dict(zip(columns, sizes, strict=True)))
    builder.extreme = rng.random() < 0.35
    builder.scale = float(rng.choice([1.0, 1.0, 1e3, 1e6])) if builder.extreme else 1.0
    parts = [builder.node(columns, int(rng.integers(0, 5))) for _ in range(int(rng.integers(1, 4)))]
    root = parts[0] if len(parts) == 1 else Sum(builder.weights(len(parts)), parts)
    names = [f"c{i}" for i in range(width)] if rng.random() < 0.3 else None
    return Circuit(root, names=names, n_variables=width)


def of_examples(rng):
    """A product of two families' examples, twice, mixed."""
    families = [leaves[name] for name in rng.choice(list(leaves), size=2)]
    for _ in range(100):
        parts, first = [], 0
        for family in families:
            parts.append(family.example(rng, first))
            first += len(parts[-1].variables)
        if np.prod([float(d.cardinality or 1) for part in parts for d in part.domains]) <= MOST_ASSIGNMENTS:
            return Circuit(Sum([0.25, 0.75], [Product(parts), Product(parts)]))
    return Circuit(Bernoulli(0, p=0.5))


def random_rows(rng, circuit, meaning, count):
    """Rows of any probability: whole, in part or wholly missing; spare columns may hold anything."""
    rows = meaning.all_assignments[rng.integers(len(meaning.all_assignments), size=count)]
    if rng.random() < 0.7:
        logs = meaning.joint(np.full(circuit.n_variables, np.nan))
        chances = np.exp(logs - log_sum(logs))
        rows = meaning.all_assignments[rng.choice(len(chances), size=count, p=(chances / chances.sum()).astype(float))]
    drawn = circuit.sample(count, random_state=int(rng.integers(2**31)))
    rows[:, meaning.real] = drawn[:, meaning.real]
    if meaning.real and rng.random() < 0.3:
        rows[:, meaning.real] += rng.normal(size=(count, len(meaning.real))) * rng.choice([1e-3, 1.0, 100.0])
    rows[rng.random(rows.shape) < rng.choice([0.0, 0.3, 0.6, 1.0], size=(count, 1))] = np.nan
    return rows
