"""Classification: exact posteriors, also when half of the answers are missing at prediction time.

python examples/classification.py [FOLDER]    writes classification.png
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from xspn import XSPNClassifier, datasets
from xspn.plotting import grouped_bars

MISSING = {"nothing missing": 0.0, "a third missing": 1 / 3, "two thirds missing": 2 / 3}


def main(folder: Path) -> None:
    data = datasets.make("conference", n_train=5_000, n_valid=10, n_test=5_000)
    people = [i for i, name in enumerate(data.feature_names) if name.startswith("attends")]
    target = data.feature_names.index("overflow")  # does the room overflow? It does if few of ten stay away
    X, y = data.train[:, people].astype(float), data.train[:, target]
    X_test, y_test = data.test[:, people].astype(float), data.test[:, target]
    models = {
        "XSPN": XSPNClassifier(random_state=0),
        "logistic regression": LogisticRegression(),
        "random forest": RandomForestClassifier(n_estimators=50, random_state=0),
        "always yes": DummyClassifier(),
    }
    rng = np.random.default_rng(0)
    tables = [np.where(rng.random(X_test.shape) < fraction, np.nan, X_test) for fraction in MISSING.values()]
    accuracy = {}
    for name, model in models.items():
        model.fit(X, y)
        exact = name == "XSPN"  # the others need something in every cell: the mean
        filled = [table if exact else np.where(np.isnan(table), X.mean(axis=0), table) for table in tables]
        accuracy[name] = [float((model.predict(table) == y_test).mean()) for table in filled]
        print(
            f"{name:>20}: " + "  ".join(f"{label}: {a:.3f}" for label, a in zip(MISSING, accuracy[name], strict=True))
        )

    figure = grouped_bars(list(MISSING), accuracy, {}, "Will the room overflow?", "accuracy", lowest=0.5)
    figure.savefig(folder / "classification.png", dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
