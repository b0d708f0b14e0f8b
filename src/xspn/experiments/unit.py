"""`Unit`: the smallest piece of work, one (data set, model, setting), with a name and a place for its result."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

Experiment = Literal["density", "classification", "pairwise"]
Setting = float | int | str | bool

SHORT = {
    "independence_threshold": "rho",
    "min_instances": "m",
    "significance": "p",
    "n_components": "k",
    "columns": "n",
}


@dataclass(frozen=True, slots=True)
class Unit:
    """One model with one setting on one data set.

    Attributes:
        experiment: "density" (table 1 and the ablation study), "classification" (table 2) or "pairwise".
        dataset: The data set's name in the paper.
        model: The model's name in the experiment's list.
        settings: The hyper-parameters, as pairs of name and value.
        seed: The random seed.
        generated: Whether the data set is drawn anew from its model, because the authors' files are not at hand.

    Examples:
        >>> unit = Unit("density", "senate", "XSPN-TF", (("independence_threshold", 5.0), ("min_instances", 20)))
        >>> str(unit), unit.path.as_posix()
        ('senate XSPN-TF rho=5 m=20', 'density/senate/XSPN-TF/rho=5,m=20,seed=0.json')
    """

    experiment: Experiment
    dataset: str
    model: str
    settings: tuple[tuple[str, Setting], ...] = ()
    seed: int = 0
    generated: bool = False

    @property
    def path(self) -> PurePosixPath:
        """Where the result is kept, below the folder of results."""
        folder = f"{self.dataset}~generated" if self.generated else self.dataset
        words = ",".join([*self._words(), f"seed={self.seed}"])
        return PurePosixPath(self.experiment, folder, self.model, f"{words}.json")

    def setting(self, name: str) -> Setting | None:
        """Return the value of a hyper-parameter, or None."""
        return dict(self.settings).get(name)

    def to_dict(self) -> dict[str, Any]:
        """Return the unit as plain values, for JSON."""
        return {
            "experiment": self.experiment,
            "dataset": self.dataset,
            "model": self.model,
            "settings": dict(self.settings),
            "seed": self.seed,
            "generated": self.generated,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Unit":
        """Return the unit that `to_dict` wrote down."""
        return cls(**{**values, "settings": tuple(values["settings"].items())})

    def _words(self) -> list[str]:
        return [
            f"{SHORT.get(name, name)}={value:g}"
            if isinstance(value, int | float)
            else f"{SHORT.get(name, name)}={value}"
            for name, value in self.settings
        ]

    def __str__(self) -> str:
        return " ".join([self.dataset, self.model, *self._words()])
