"""Two leaf families of somebody else's package: one with code for every back end, one with nothing but the contract."""

import numpy as np

from xspn import Bernoulli, Product
from xspn.data.domain import Domain
from xspn.leaves.base import Leaf, Smoothing, Univariate, register

used = set()  # the code that was run


@register
class Decay(Univariate):
    """P(X = v) proportional to rate^v for v = 0..k−1."""

    __slots__ = ("k", "rate")
    family = "decay"

    def __init__(self, variable, rate, k):
        self._set_variables(variable)
        self.rate, self.k = float(rate), int(k)
        self._seal()

    @property
    def domains(self):
        return (Domain.categorical(self.k),)

    @property
    def n_parameters(self):
        return 1

    @property
    def log_p(self):
        logs = np.arange(self.k) * np.log(self.rate)
        return logs - np.logaddexp.reduce(logs)

    def log_prob(self, x):
        missing = np.isnan(x[:, 0])
        return np.where(missing, 0.0, self.log_p[np.where(missing, 0, x[:, 0]).astype(int)])

    @classmethod
    def together(cls, leaves):
        tables = [leaf.log_p for leaf in leaves]

        def log_prob(values, best):
            used.add("numpy")
            return np.array(
                [_look_up(values[:, leaf.variables[0]], own, best) for leaf, own in zip(leaves, tables, strict=True)]
            )

        return log_prob

    @classmethod
    def together_numba(cls, leaves):
        from numba import njit

        columns, ends = np.array([leaf.variables[0] for leaf in leaves]), np.cumsum([leaf.k for leaf in leaves])
        table, largest = (
            np.concatenate([leaf.log_p for leaf in leaves]),
            np.array([leaf.log_p.max() for leaf in leaves]),
        )
        starts = ends - [leaf.k for leaf in leaves]

        @njit
        def kernel(values, best):
            out = np.zeros((len(columns), len(values)))
            for i in range(len(columns)):
                for r in range(len(values)):
                    x = values[r, columns[i]]
                    out[i, r] = table[starts[i] + int(x)] if x == x else (largest[i] if best else 0.0)
            return out

        def log_prob(values, best):
            used.add("numba")
            return kernel(values, best)

        return log_prob

    @classmethod
    def together_torch(cls, leaves, device):
        import torch

        tables = [torch.as_tensor(leaf.log_p, device=device) for leaf in leaves]

        def log_prob(values, best):
            used.add("torch")
            rows = torch.as_tensor(values, device=device)
            found = []
            for leaf, table in zip(leaves, tables, strict=True):
                own = rows[:, leaf.variables[0]]
                known = table[own.nan_to_num().long()]
                found.append(torch.where(own.isnan(), table.max() if best else 0.0, known))
            return torch.stack(found).cpu().numpy()

        return log_prob

    def mode(self, x):
        filled = np.where(np.isnan(x), float(np.argmax(self.log_p)), x)
        return filled, self.log_prob(filled)

    def sample(self, x, rng):
        drawn = rng.choice(self.k, size=x.shape, p=np.exp(self.log_p))
        return np.where(np.isnan(x), drawn, x)

    def moments(self):
        values, p = np.arange(self.k), np.exp(self.log_p)
        mean = values @ p
        return np.array([mean]), np.array([[(values - mean) ** 2 @ p]])

    def statistics(self, x, weights):
        seen = ~np.isnan(x[:, 0])
        return np.array([weights[seen].sum(), weights[seen] @ x[seen, 0]])

    def from_statistics(self, statistics, smoothing=0.0):
        mean = (statistics[1] + Smoothing.of(smoothing).mass) / max(statistics[0] + Smoothing.of(smoothing).mass, 1e-9)
        low, high = 1e-9, 1e9
        for _ in range(200):  # the mean grows with the rate
            middle = np.sqrt(low * high)
            low, high = (middle, high) if type(self)(0, middle, self.k).moments()[0][0] < mean else (low, middle)
        return type(self)(self.variables[0], np.sqrt(low * high), self.k) if statistics[0] > 0 else self

    def to_params(self):
        return {"rate": self.rate, "k": self.k}

    @classmethod
    def from_params(cls, variables, params):
        return cls(cls._only(variables), params["rate"], params["k"])

    @classmethod
    def example(cls, rng, first_variable=0):
        return cls(first_variable, rng.random() + 0.1, rng.integers(2, 5))

    def details(self, label):
        return f"decays by {self.rate:.2f}"


def _look_up(own, table, best):
    missing = np.isnan(own)
    return np.where(missing, table.max() if best else 0.0, table[np.where(missing, 0, own).astype(int)])


@register
class Parity(Leaf):
    """The number of ones is even with probability `even`; all assignments of one parity are equally likely."""

    __slots__ = ("even",)
    family = "parity"
    only_domain = Domain.binary()

    def __init__(self, variables, even):
        self._set_variables(variables)
        self.even = float(even)
        self._seal()

    @property
    def n_parameters(self):
        return 1

    def log_prob(self, x):
        seen = (~np.isnan(x)).sum(axis=1)
        chance = np.where(np.nansum(x, axis=1) % 2 == 0, self.even, 1 - self.even)
        with np.errstate(divide="ignore"):
            whole = np.log(chance) - (x.shape[1] - 1) * np.log(2)
        return np.where(seen == x.shape[1], whole, -seen * np.log(2))

    def _completed(self, x, drawn, even):
        """Fill with the bits drawn, but for the last missing one of each row, which makes the parity."""
        out, missing = np.where(np.isnan(x), drawn, x), np.isnan(x)
        for row, is_even, lacks in zip(out, even, missing, strict=True):
            if lacks.any():
                last = np.flatnonzero(lacks)[-1]
                row[last] = 0
                row[last] = (row.sum() % 2) if is_even else 1 - row.sum() % 2
        return out

    def mode(self, x):
        filled = self._completed(x, np.zeros(x.shape), np.full(len(x), self.even >= 0.5))
        return filled, self.log_prob(filled)

    def sample(self, x, rng):
        return self._completed(x, rng.integers(0, 2, x.shape), rng.random(len(x)) < self.even)

    def marginalize(self, keep):
        kept = [v for v in self.variables if v in keep]
        if len(kept) == len(self.variables):
            return self
        coins = [Bernoulli(v, p=0.5) for v in kept]
        return None if not coins else coins[0] if len(coins) == 1 else Product(coins)

    def condition(self, x):
        rest, log_evidence = np.flatnonzero(np.isnan(x)), float(self.log_prob(x[None, :])[0])
        if not len(rest) or np.isneginf(log_evidence):
            return None, log_evidence
        even = self.even if np.nansum(x) % 2 == 0 else 1 - self.even
        return Parity([self.variables[i] for i in rest], even), log_evidence

    def moments(self):
        n = len(self.variables)
        rows = np.full((n + 1, n), np.nan)
        rows[np.arange(n), np.arange(n)] = 1
        mean = np.exp(self.log_prob(rows[:n]))
        second = np.empty((n, n))
        for i in range(n):
            for j in range(n):
                both = np.full((1, n), np.nan)
                both[0, [i, j]] = 1
                second[i, j] = np.exp(self.log_prob(both))[0]
        return mean, second - np.outer(mean, mean)

    def count_distribution(self):
        from scipy.special import comb

        ones = np.arange(len(self.variables) + 1)
        return comb(len(self.variables), ones) * np.where(ones % 2, 1 - self.even, self.even) / 2 ** (ones[-1] - 1)

    def statistics(self, x, weights):
        missing = np.isnan(x)
        even = np.where(missing.any(axis=1), self.even, np.nansum(x, axis=1) % 2 == 0)
        told = weights * ~missing.all(axis=1)
        return np.array([told @ even, told @ (1 - even)])

    def from_statistics(self, statistics, smoothing=0.0):
        counts = statistics + Smoothing.of(smoothing).mass
        return type(self)(self.variables, counts[0] / counts.sum()) if counts.sum() > 0 else self

    def to_params(self):
        return {"even": self.even}

    @classmethod
    def from_params(cls, variables, params):
        return cls(variables, params["even"])

    @classmethod
    def example(cls, rng, first_variable=0):
        return cls(range(first_variable, first_variable + 3), rng.random())
