"""`Unit`: the smallest piece of work, one (data set, model, setting), with a name and a place for its result."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

from xspn.core.checks import is_finite_number
from xspn.core.errors import FormatError

Experiment = Literal["density", "classification", "pairwise"]
Setting = float | int | str | bool

WORD = re.compile(r"\w[\w.+-]*")  # what names of data sets, models and settings are made of: one part of a path
LARGEST_SEED = 2**63

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
        """Return the unit that `to_dict` wrote down; its words are plain ones, so that its path leads nowhere else."""
        unit = cls(**{**values, "settings": tuple(values["settings"].items())})
        words = [unit.dataset, unit.model, *(name for name, _ in unit.settings)]
        words += [value for _, value in unit.settings if isinstance(value, str)]
        odd = [word for word in words if not isinstance(word, str) or len(word) > 80 or not WORD.fullmatch(word)]
        if unit.experiment not in get_args(Experiment) or odd:
            raise FormatError(f"unit: expected a data set and a model, found {(odd or [unit.experiment])[0]!r:.60}")
        if type(unit.seed) is not int or not 0 <= unit.seed < LARGEST_SEED or type(unit.generated) is not bool:
            raise FormatError(f"unit: expected a seed, and whether rows were generated, found {unit.seed!r:.60}")
        numbers = [value for _, value in unit.settings if not isinstance(value, str)]
        if not all(isinstance(value, bool) or is_finite_number(value) for value in numbers):
            raise FormatError("unit: expected settings that are numbers or words")
        return unit

    def _words(self) -> list[str]:
        return [
            f"{SHORT.get(name, name)}={value:g}"
            if isinstance(value, int | float)
            else f"{SHORT.get(name, name)}={value}"
            for name, value in self.settings
        ]

    def __str__(self) -> str:
        return " ".join([self.dataset, self.model, *self._words()])
