"""The models of the tables: how each is made, and which settings of the paper's grid it has."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from sklearn.svm import SVC

from xspn.core.errors import ParameterError
from xspn.core.registry import Registry
from xspn.estimators import MEVM, XSPN, XSPNClassifier
from xspn.paper.baselines import MADE, MEVMClassifier, XGBoost
from xspn.paper.datasets.catalog import info
from xspn.paper.experiments.results import Setting
from xspn.paper.presets import paper_classifier, paper_model

Make = Callable[..., Any]
Settings = tuple[tuple[str, Setting], ...]

GRID: dict[str, tuple[Setting, ...]] = {
    "independence_threshold": (5.0, 15.0),
    "min_instances": (20, 200),
    "significance": (0.05, 0.1, 0.2, 0.4),
}
STRUCTURE = ("independence_threshold", "min_instances")
WITH_TEST = (*STRUCTURE, "significance")


@dataclass(frozen=True)
class ModelSpec:
    """One model of the experiments.

    Attributes:
        name: The name in tables and on the command line.
        make: From settings and `random_state` to an estimator.
        grid: The hyper-parameters of the paper's grid that are searched.
        fixed: Settings that are not searched.
        quick: Settings that a quick run changes.
        extra: The extra that it needs, called like the package that it installs.
        cost: The time of a fit, roughly, relative to the others.
        stops_early: Whether `fit` takes validation rows.
        merges_rows: Whether equal rows may be given once, with their number as weight: the same model in less time.
    """

    name: str
    make: Make
    grid: tuple[str, ...] = ()
    fixed: tuple[tuple[str, Setting], ...] = ()
    quick: tuple[tuple[str, Setting], ...] = ()
    extra: str | None = None
    cost: float = 1.0
    stops_early: bool = False
    merges_rows: bool = False

    def why_not(self) -> str | None:
        """Return why the model cannot be run here, or None."""
        if self.extra is None or find_spec(self.extra) is not None:
            return None
        return f"{self.name} needs {self.extra}: pip install 'xspn[{self.extra}]'"


models: Registry[ModelSpec] = Registry("model")  # densities: table 1 and the ablation study
classifiers: Registry[ModelSpec] = Registry("classifier")  # table 2

for _spec in (
    ModelSpec("SPN", partial(paper_model, "SPN"), STRUCTURE, cost=4),
    ModelSpec("SPN-CLT", partial(paper_model, "SPN-CLT"), STRUCTURE, cost=4),
    ModelSpec("XSPN-T", partial(paper_model, "XSPN-T"), WITH_TEST, cost=4),
    ModelSpec("XSPN-TF", partial(paper_model, "XSPN-TF"), WITH_TEST, cost=4),
    ModelSpec("XSPN-default", XSPN, cost=4),
    ModelSpec("XSPN-best", XSPN, fixed=(("quality", "best"),), cost=400, stops_early=True),
    ModelSpec("SPN-default", XSPN, STRUCTURE, fixed=(("exchangeability", "none"),)),
    ModelSpec("MEVM", MEVM, fixed=(("n_components", 20),), cost=20, stops_early=True),
    ModelSpec("MADE", MADE, quick=(("max_epochs", 30),), extra="torch", cost=60, stops_early=True),
):
    models.add(_spec.name, _spec)

for _spec in (
    ModelSpec("SPN", partial(paper_classifier, "SPN"), STRUCTURE, cost=4),
    ModelSpec("XSPN", partial(paper_classifier, "XSPN-TF"), WITH_TEST, cost=4),
    ModelSpec("XSPN-default", XSPNClassifier, cost=4),
    ModelSpec("MEVM", MEVMClassifier),
    ModelSpec("SVM", SVC, cost=20, merges_rows=True),
    ModelSpec("XGBoost", XGBoost, extra="xgboost"),
    ModelSpec("XGBoost-untied", XGBoost.untied, extra="xgboost", cost=4, stops_early=True),
):
    classifiers.add(_spec.name, _spec)


def estimator(spec: ModelSpec, settings: dict[str, Setting], seed: int) -> Any:
    """Return an unfitted estimator with these settings; the text "none" stands for None, which file names lack."""
    return spec.make(
        random_state=seed, **{name: None if value == "none" else value for name, value in settings.items()}
    )


def grid(names: tuple[str, ...], dataset: str, quick: bool = False) -> list[Settings]:
    """Return the settings to try: all combinations of the paper's values for these hyper-parameters.

    A quick run takes two of them: both values of ρ, with the smallest slices that the group of data sets can bear and
    the paper's first level. They are settings of the whole grid, so that a full run goes on from there.

    Examples:
        >>> len(grid(("independence_threshold", "min_instances", "significance"), "senate"))
        16
        >>> grid(("independence_threshold", "min_instances"), "nltcs", quick=True)[0]
        (('independence_threshold', 5.0), ('min_instances', 200))
        >>> grid((), "nltcs")
        [()]
    """
    unknown = [name for name in names if name not in GRID]
    if unknown:
        raise ParameterError(f"grid: expected some of {', '.join(GRID)}, found {unknown[0]!r}")
    values = dict(GRID)
    if quick:
        values["min_instances"] = (20,) if info(dataset).group == "real" else (200,)
        values["significance"] = (0.05,)
    chosen = [[(name, value) for value in values[name]] for name in GRID if name in names]
    return [tuple(combination) for combination in itertools.product(*chosen)]
