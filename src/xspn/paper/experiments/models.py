"""The density models of table 1 and of the ablation study: how each is made, and which settings it has."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from xspn.core.registry import Registry
from xspn.estimators import MEVM, XSPN
from xspn.paper.baselines import MADE
from xspn.paper.experiments.unit import Setting
from xspn.paper.presets import paper_model

Family = Literal["SPN", "XSPN", "XSPN-default", "SPN-default", "MEVM", "MADE", "SVM", "XGBoost"]
Make = Callable[..., Any]

STRUCTURE = ("independence_threshold", "min_instances")
WITH_TEST = (*STRUCTURE, "significance")


@dataclass(frozen=True)
class ModelSpec:
    """One model of the experiments.

    Attributes:
        name: The name in tables and on the command line.
        says: What it is, in a line.
        family: The column of table 1 that it competes for.
        grid: The hyper-parameters that are searched.
        make: From settings and `random_state` to an estimator.
        fixed: Settings that are not searched.
        quick: Settings that a quick run changes.
        needs: The optional package that it needs.
        extra: The extra that installs the package.
        cost: The time of a fit, roughly, relative to the others.
        stops_early: Whether `fit` takes validation rows.
        merges_rows: Whether equal rows may be given once, with their number as weight: the same model in less time.
    """

    name: str
    says: str
    family: Family
    grid: tuple[str, ...]
    make: Make
    fixed: tuple[tuple[str, Setting], ...] = ()
    quick: tuple[tuple[str, Setting], ...] = ()
    needs: str | None = None
    extra: str | None = None
    cost: float = 1.0
    stops_early: bool = False
    merges_rows: bool = False

    def why_not(self) -> str | None:
        """Return why the model cannot be run here, or None."""
        if self.needs is None or find_spec(self.needs) is not None:
            return None
        return f"{self.name} needs {self.needs}: pip install 'xspn[{self.extra}]'"


def _paper(name: str) -> Make:
    return lambda **settings: paper_model(name, **settings)


models: Registry[ModelSpec] = Registry("model")

for _spec in (
    ModelSpec("SPN", "LearnSPN, factorised fallback (smoothed)", "SPN", STRUCTURE, _paper("SPN"), cost=4),
    ModelSpec("SPN-CLT", "LearnSPN, Chow-Liu trees as fallback", "SPN", STRUCTURE, _paper("SPN-CLT"), cost=4),
    ModelSpec("XSPN-T", "exchangeable leaves by test only", "XSPN", WITH_TEST, _paper("XSPN-T"), cost=4),
    ModelSpec("XSPN-TF", "exchangeable leaves by test and as fallback", "XSPN", WITH_TEST, _paper("XSPN-TF"), cost=4),
    ModelSpec("XSPN-default", "this library's defaults", "XSPN-default", WITH_TEST, XSPN),
    ModelSpec(
        "SPN-default",
        "this library's defaults without exchangeable leaves",
        "SPN-default",
        STRUCTURE,
        XSPN,
        fixed=(("exchangeability", "none"),),
    ),
    ModelSpec(
        "MEVM",
        "mixture of 20 exchangeable variable models by EM",
        "MEVM",
        (),
        MEVM,
        fixed=(("n_components", 20),),
        cost=20,
        stops_early=True,
    ),
    ModelSpec(
        "MADE",
        "masked autoencoder, one hidden layer of 500 units, 8 orderings (no tractable marginals)",
        "MADE",
        (),
        MADE,
        quick=(("max_epochs", 30),),
        needs="torch",
        extra="torch",
        cost=60,
        stops_early=True,
    ),
):
    models.add(_spec.name, _spec)


def estimator(spec: ModelSpec, settings: dict[str, Setting], seed: int) -> Any:
    """Return an unfitted estimator with these settings; the text "none" stands for None, which file names lack."""
    return spec.make(
        random_state=seed, **{name: None if value == "none" else value for name, value in settings.items()}
    )
