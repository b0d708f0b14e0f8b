"""What there is to do: the units of each table, in the order in which they are best done."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from xspn.paper.datasets.catalog import info, names
from xspn.paper.datasets.classification import CLASSIFICATION_NAMES
from xspn.paper.datasets.synthetic import CONSTRAINTS
from xspn.paper.experiments.data import availability
from xspn.paper.experiments.evaluation import COLUMNS, METHODS, MORE_COLUMNS
from xspn.paper.experiments.models import ModelSpec, classifiers, grid, models
from xspn.paper.experiments.results import Experiment, Unit

EXPERIMENT_OF: dict[str, Experiment] = {
    "table1": "density",
    "ablation": "density",
    "table2": "classification",
    "pairwise": "pairwise",
}
QUICK_SETS: dict[Experiment, tuple[str, ...]] = {
    "density": ("exact", "MEVM-s", "conference", "exam", "senate", "bundestag", "nltcs"),
    "classification": ("parity", "conference", "exam", "senate"),
    "pairwise": ("nltcs", "plants", "jester"),
}
SMALL = 8e8  # cost × rows × variables²: above that, models without a grid are skipped in a quick run


@dataclass(frozen=True)
class ExperimentPlan:
    """Units to run, and what was skipped and why."""

    units: tuple[Unit, ...]
    skipped: tuple[str, ...]


def plan(
    targets: Iterable[str],
    wanted: tuple[str, ...] = (),
    chosen_models: tuple[str, ...] = (),
    quick: bool = False,
    seed: int = 0,
) -> ExperimentPlan:
    """Return the units of these tables.

    Args:
        targets: Some of `xspn.paper.experiments.TARGETS`.
        wanted: The data sets; all of the paper's, or those of a quick run, by default.
        chosen_models: The models; all by default. Names that a table does not have are skipped.
        quick: Whether the small grid is enough.
        seed: The random seed.
    """
    own_names = tuple(info(name).name for name in wanted)
    experiments = dict.fromkeys(EXPERIMENT_OF[target] for target in targets if target in EXPERIMENT_OF)
    units: list[Unit] = []
    skipped: dict[str, None] = {}
    for experiment in experiments:
        sets = _sets(experiment, own_names, quick)
        found = availability(sets)
        skipped.update({_missing(name): None for name in found.missing if name not in _always_here(experiment)})
        specs, reasons = _specs(experiment, chosen_models)
        skipped.update(dict.fromkeys(reasons))
        for name in sets:
            generated = name in found.generated and name not in _always_here(experiment)
            if name in found.usable or name in _always_here(experiment):
                units += _units(experiment, name, specs, quick, seed, generated)
    return ExperimentPlan(tuple(units), tuple(skipped))


def cost(unit: Unit) -> float:
    """Return how long a unit takes, roughly and in no unit of time: for the time left, and for nothing else."""
    entry = info(unit.dataset)
    if unit.experiment == "pairwise":
        return 1e-6 * entry.n_train
    spec = models[unit.model] if unit.experiment == "density" else classifiers[unit.model]
    repeated = 1.0 if unit.setting("significance") in (None, 0.05) else 0.5  # some need not be learned again
    return float(1e-8 * spec.cost * entry.n_train**0.7 * entry.n_variables**1.5 * repeated)


def _sets(experiment: Experiment, wanted: tuple[str, ...], quick: bool) -> tuple[str, ...]:
    possible = {"density": names(), "classification": CLASSIFICATION_NAMES, "pairwise": names("benchmark")}[experiment]
    if wanted:
        return tuple(name for name in possible if name in wanted)
    return QUICK_SETS[experiment] if quick else possible


def _always_here(experiment: Experiment) -> frozenset[str]:
    """Return the data sets that need no files: rows of these tasks are drawn uniformly and labeled by a rule."""
    return frozenset(CONSTRAINTS) if experiment == "classification" else frozenset()


def _missing(name: str) -> str:
    return f"{name}: its files are not here; `xspn datasets fetch {name}` gets them"


def _specs(experiment: Experiment, chosen: tuple[str, ...]) -> tuple[list[ModelSpec], list[str]]:
    """Return the models of an experiment that can be run, and why others cannot."""
    if experiment == "pairwise":
        return [], []
    registry = models if experiment == "density" else classifiers
    wanted = [registry[name] for name in registry if not chosen or name in chosen]
    reasons = [reason for spec in wanted if (reason := spec.why_not()) is not None]
    return [spec for spec in wanted if spec.why_not() is None], reasons


def _units(
    experiment: Experiment, name: str, specs: list[ModelSpec], quick: bool, seed: int, generated: bool
) -> list[Unit]:
    """Return the units of one data set; those of the first level come first, because others may follow from them."""
    if experiment == "pairwise":
        return [
            Unit(experiment, name, method, (("columns", n),), seed, generated)
            for n in (*COLUMNS, *MORE_COLUMNS)
            if n <= info(name).n_variables
            for method in METHODS
        ]
    found = []
    for spec in specs:
        if quick and not spec.grid and _effort(spec, name) > SMALL:
            continue
        fixed = {**dict(spec.fixed), **(dict(spec.quick) if quick else {})}
        for settings in grid(spec.grid, name, quick):
            found.append(Unit(experiment, name, spec.name, (*settings, *fixed.items()), seed, generated))
    return sorted(found, key=lambda unit: float(unit.setting("significance") or 0.0))


def _effort(spec: ModelSpec, name: str) -> float:
    entry = info(name)
    return spec.cost * entry.n_train * entry.n_variables * max(entry.n_variables, 50)


def planned(unit: Unit) -> Unit | None:
    """Return the unit of the tables that is equal to this one, whether its data set is here or not; None without."""
    for own in _all_units(unit.experiment, unit.dataset, unit.generated):
        if replace(own, seed=unit.seed) == unit:
            return replace(own, seed=unit.seed)
    return None


@lru_cache(maxsize=256)
def _all_units(experiment: Experiment, dataset: str, generated: bool) -> tuple[Unit, ...]:
    """Return all units of one data set, of whole and of quick runs."""
    if dataset not in _sets(experiment, (), False) or (generated and dataset not in names("synthetic")):
        return ()
    registry = models if experiment == "density" else classifiers
    specs = [registry[name] for name in registry]
    return tuple(unit for quick in (False, True) for unit in _units(experiment, dataset, specs, quick, 0, generated))


def known_models() -> tuple[str, ...]:
    """Return the names of all models and classifiers."""
    return tuple(dict.fromkeys([*models, *classifiers]))
