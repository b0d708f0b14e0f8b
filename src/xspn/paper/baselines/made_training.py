"""Training of a masked autoencoder with PyTorch, the optional package behind the extra `torch`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from xspn.core.arrays import AnyArray
from xspn.learning.em import Course
from xspn.paper.baselines.extras import import_extra
from xspn.paper.baselines.made_network import Network, Orderings


@dataclass(frozen=True)
class TrainingOptions:
    """How the network is trained.

    Attributes:
        learning_rate: The step size of Adam.
        batch_size: Rows per step; each step takes the next order.
        l1: The penalty on absolute weights, which keeps few inputs per unit.
        averaging: The share of the past in the running average of the weights; the average is what is kept.
        max_epochs: The largest number of passes over the data.
        patience: Stop after so many passes without a better validation log-likelihood.
        device: Where PyTorch computes.
    """

    learning_rate: float = 3e-3
    batch_size: int = 100
    l1: float = 5e-5
    averaging: float = 0.998
    max_epochs: int = 1000
    patience: int = 40
    device: str = "cpu"


def train(
    X: AnyArray, X_valid: AnyArray, orderings: Orderings, options: TrainingOptions, rng: np.random.Generator
) -> tuple[Network, tuple[float, ...]]:
    """Return the network that is best for the validation rows, and their mean log-likelihood after each epoch."""
    torch = import_extra("torch", "torch", "MADE")
    trainer = _Trainer(torch, X, orderings, options, rng)
    course: Course[Network] = Course(options.patience, tolerance=0.0)
    for _ in range(options.max_epochs):
        loss = trainer.epoch()
        network = trainer.averaged()
        if course.ends_with(network, -loss, float(network.log_likelihood(X_valid).mean())):
            break
    return course.chosen, tuple(course.valid_log_likelihoods)


class _Trainer:
    def __init__(
        self, torch: Any, X: AnyArray, orderings: Orderings, options: TrainingOptions, rng: np.random.Generator
    ) -> None:
        self.torch, self.orderings, self.options, self.rng = torch, orderings, options, rng
        self.X = self._tensor(X)
        self.masks = [(self._tensor(sees), self._tensor(heard)) for sees, heard in orderings.masks()]
        n, units = X.shape[1], orderings.horizons.shape[1]
        p = (X.sum(axis=0, dtype=np.float64) + 0.5) / (len(X) + 1)
        start = (
            rng.normal(size=(units, n)) / np.sqrt(n),
            np.zeros((units, n)),
            rng.normal(size=(n, units)) / np.sqrt(4 * units),
            np.zeros(units),
            np.log(p / (1 - p)),  # without any hidden unit, each variable has its own frequency
        )
        self.parameters = [self._tensor(values).requires_grad_() for values in start]
        self.average = [values.detach().clone() for values in self.parameters]
        self.optimizer = torch.optim.Adam(self.parameters, lr=options.learning_rate)
        self.steps = 0

    def _tensor(self, values: AnyArray) -> Any:
        return self.torch.tensor(np.asarray(values), dtype=self.torch.float32, device=self.options.device)

    def _batches(self) -> Iterator[Any]:
        order = self.rng.permutation(len(self.X))
        for first in range(0, len(order), self.options.batch_size):
            yield self.X[order[first : first + self.options.batch_size]]

    def epoch(self) -> float:
        """Pass over the data once; return the mean loss of a row."""
        total = 0.0
        for batch in self._batches():
            sees, heard = self.masks[self.steps % len(self.masks)]
            self.steps += 1
            loss = self._loss(batch, sees, heard)
            inward, _, outward, *_ = self.parameters
            penalty = self.options.l1 * (inward.abs().sum() + outward.abs().sum())
            self.optimizer.zero_grad()
            (loss + penalty).backward()
            self.optimizer.step()
            total += float(loss.detach()) * len(batch)
            self._follow()
        return total / len(self.X)

    def _loss(self, x: Any, sees: Any, heard: Any) -> Any:
        """Return minus the mean log-likelihood under one order."""
        inward, known, outward, unit_bias, output_bias = self.parameters
        units = self.torch.relu(x @ (inward * sees).T + unit_bias + (known * sees).sum(dim=1))
        logits = units @ (outward * heard).T + output_bias
        entropy = self.torch.nn.functional.binary_cross_entropy_with_logits
        return entropy(logits, x, reduction="sum") / len(x)

    def _follow(self) -> None:
        """Move the running average; at first it forgets faster, so that the random start does not linger."""
        share = min(self.options.averaging, self.steps / (self.steps + 10))
        with self.torch.no_grad():
            for mean, values in zip(self.average, self.parameters, strict=True):
                mean.lerp_(values, 1 - share)

    def averaged(self) -> Network:
        """Return the network with averaged weights."""
        inward, known, outward, unit_bias, output_bias = (
            np.asarray(mean.cpu().numpy(), dtype=np.float64) for mean in self.average
        )
        return Network(inward, known, outward, unit_bias, output_bias, self.orderings)
