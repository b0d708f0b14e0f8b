"""A small neural network from points of the latent space to natural parameters, and its steps uphill."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from xspn.learning.continuous.indicators import Matrix

LEAK = np.float32(0.1)  # the slope of a unit below zero
MEMORY, MEMORY_OF_SQUARES = 0.9, 0.999  # Adam's
FIRST_SPREAD = 0.3  # of the last layer's weights, so that components differ little to begin with


class Decoder:
    """A multilayer perceptron with leaky rectifiers, fitted by Adam.

    Args:
        sizes: The dimensions of the latent space, of the hidden layers, and of the output.
        bias: The output at the start, about which components vary.
        rng: Draws the weights.
    """

    def __init__(self, sizes: Sequence[int], bias: Matrix, rng: np.random.Generator) -> None:
        drawn = [
            rng.standard_normal((a, b), dtype=np.float32) * np.float32(np.sqrt(2.0 / a)) for a, b in pairwise(sizes)
        ]
        drawn[-1] *= np.float32(FIRST_SPREAD)
        self._weights = drawn
        self._biases = [*(np.zeros(size, dtype=np.float32) for size in sizes[1:-1]), bias.astype(np.float32)]
        self._parameters = [*self._weights, *self._biases]
        self._means = [np.zeros_like(own) for own in self._parameters]
        self._squares = [np.zeros_like(own) for own in self._parameters]
        self._steps = 0

    def copy_of_parameters(self) -> list[Matrix]:
        """Return the parameters as they are now, for `restore`."""
        return [own.copy() for own in self._parameters]

    def restore(self, parameters: Sequence[Matrix]) -> None:
        """Take parameters from an earlier time."""
        for own, before in zip(self._parameters, parameters, strict=True):
            own[...] = before

    def layers(self, points: Matrix) -> list[Matrix]:
        """Return the points, what each hidden layer makes of them, and last the output, a point a column."""
        found = [points]
        for weights, bias in zip(self._weights[:-1], self._biases[:-1], strict=True):
            linear = found[-1] @ weights + bias
            found.append(np.where(linear > 0, linear, LEAK * linear))
        found.append(np.asarray(self._weights[-1].T @ found[-1].T + self._biases[-1][:, None], dtype=np.float32))
        return found

    def ascend(self, layers: Sequence[Matrix], slopes: Matrix, step: float) -> None:
        """Move the parameters uphill.

        Args:
            layers: What `layers` returned for the points.
            slopes: The derivatives of what is to grow by the output: (outputs, points).
            step: The length of the step, about what each parameter changes by.
        """
        of_weights, of_biases, back = [], [], slopes.T
        for k in reversed(range(len(self._weights))):
            of_weights.append(layers[k].T @ back)
            of_biases.append(back.sum(axis=0))
            if k:
                back = back @ self._weights[k].T
                back *= np.where(layers[k] > 0, np.float32(1), LEAK)
        self._steps += 1
        length = np.float32(step / (1 - MEMORY**self._steps))
        scale = np.float32(1 / (1 - MEMORY_OF_SQUARES**self._steps))
        gradients = [*reversed(of_weights), *reversed(of_biases)]
        for own, slope, mean, square in zip(self._parameters, gradients, self._means, self._squares, strict=True):
            mean += np.float32(1 - MEMORY) * (slope - mean)
            square += np.float32(1 - MEMORY_OF_SQUARES) * (slope * slope - square)
            own += length * mean / (np.sqrt(square * scale) + np.float32(1e-8))
