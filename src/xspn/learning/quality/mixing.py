"""Several models as one, each with the share that rows kept apart give it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xspn.core.arrays import FloatArray
from xspn.graph.graph import Graph
from xspn.graph.nodes import Sum
from xspn.learning.assembly import Learned
from xspn.learning.ensemble import joined_trace
from xspn.learning.quality.part import Part, Partner
from xspn.learning.shares import likeliest_shares
from xspn.learning.source import TrainingData

SMALLEST_SHARE = 0.02
PASSES = 200  # of EM over a few shares, which costs next to nothing


def mixed(
    partners: Sequence[Partner], weights: FloatArray, all_rows: TrainingData | None
) -> tuple[Learned, tuple[Part, ...]]:
    """Return the mixture of all models that earn a share, and what it is made of.

    Args:
        partners: The models.
        weights: Those of the rows kept apart.
        all_rows: What the models are learned from again once their shares are known; None if they need not be.
    """
    shares = best_shares(np.array([one.row_scores for one in partners]), weights)
    kept = [(one, share) for one, share in zip(partners, shares.tolist(), strict=True) if share > 0]
    parts = tuple(replace(one.part, share=share) for one, share in kept)
    models = [one.learned if all_rows is None else one.learned_again(all_rows) for one, _ in kept]
    if len(models) == 1:
        return models[0], parts
    roots = [model.graph.root for model in models]
    whole = Graph(Sum([share for _, share in kept], roots), models[0].graph.n_variables)
    return Learned(whole, joined_trace(whole, roots, [model.trace for model in models])), parts


def best_shares(row_scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the shares of models that make rows most likely, by EM; none for one that earns next to nothing.

    A model that alone finds some row possible keeps its share, however small.

    Args:
        row_scores: The log-likelihood of each row by each model: (models, rows).
        weights: The weight of each row.

    Examples:
        >>> logs = np.log([[0.5, 0.5, 0.1], [0.1, 0.1, 0.9], [0.1, 0.1, 0.1]])
        >>> best_shares(logs, np.ones(3)).round(2).tolist()
        [0.67, 0.33, 0.0]
    """
    possible = np.isfinite(row_scores).any(axis=0)
    scores, own = row_scores[:, possible], weights[possible]
    kept = np.arange(len(scores))
    shares = likeliest_shares(scores, own, PASSES)
    while len(kept) > 1 and shares.min() < SMALLEST_SHARE:
        others = np.delete(kept, shares.argmin())
        if not np.isfinite(scores[others]).any(axis=0).all():
            break
        kept, shares = others, likeliest_shares(scores[others], own, PASSES)
    found = np.zeros(len(scores))
    found[kept] = shares
    return found
