"""Fitted estimators as files: the circuit, and beside it what else the estimator is made of, in plain values.

A file of an estimator is a file of its circuit, so that every command and `xspn.io.load` read it, too. The notes have
an entry "estimator": its class, its parameters and what `fit` found beyond the circuit. Nothing is pickled: classes are
looked up among those of this package, and parameters are plain values, which are checked as those of a call are.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from xspn._version import __version__
from xspn.circuit import Circuit
from xspn.core.arrays import AnyArray
from xspn.core.checks import known_names
from xspn.core.errors import DataTypeError, FormatError, ParameterError
from xspn.data.domain import Domain, plain
from xspn.data.schema import Schema
from xspn.estimators.base import DensityEstimator, TableInput
from xspn.estimators.classifier import XSPNClassifier
from xspn.estimators.imputer import XSPNImputer
from xspn.estimators.mevm import MEVM
from xspn.estimators.normal_mixture import NormalMixture
from xspn.estimators.outliers import XSPNOutlierDetector
from xspn.estimators.wrapped import AroundDensity
from xspn.estimators.xspn import XSPN
from xspn.io import files
from xspn.io.files import Notes
from xspn.io.json_format import UNUSABLE
from xspn.learning.trace import Trace
from xspn.leaves.scales import Scale

Estimator = XSPN | XSPNClassifier | MEVM | NormalMixture | XSPNImputer | XSPNOutlierDetector
CLASSES: dict[str, Any] = {
    own.__name__: own for own in (XSPN, XSPNClassifier, MEVM, NormalMixture, XSPNImputer, XSPNOutlierDetector)
}
ENTRY = "estimator"
SCHEMA = 1
DOMAIN, MAPPING, NESTED = "$domain", "$mapping", "$estimator"  # values of parameters that JSON has no form for
_CLASS_TYPE = re.compile(r"[<|>=]?(b1|\?|U\d{1,6}|O|[iu][1248]|f[248])")
_LIBRARY = re.compile(r"[a-z]{1,20}")


def save(model: Circuit | Estimator, path: str | os.PathLike[str], notes: Notes | None = None) -> None:
    """Write a circuit, or a fitted estimator with its settings: binary if the name ends in `.xspn`, else JSON.

    The file appears whole or not at all, and holds no code. Of an estimator it keeps the circuit, the parameters, the
    columns' names, labels and types, classes and thresholds; not the decisions of the learner (`trace_`), nor a
    `random_state` that is not a number. Names that end in `.jpc`, `.spn` or `.psdd` give text for other programs, which
    holds the circuit's distribution alone.

    Args:
        model: A `Circuit`, `XSPN`, `XSPNClassifier`, `MEVM`, `NormalMixture`, `XSPNImputer` or `XSPNOutlierDetector`.
        path: The file.
        notes: What else the file shall hold, in plain values.

    Examples:
        >>> import tempfile, pathlib
        >>> from xspn import XSPN, load, save
        >>> model = XSPN(random_state=0).fit([[0, 1], [1, 1], [0, 0], [1, 0]] * 20)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "model.json"
        ...     save(model, path)
        ...     load(path).score([[0, 1]]) == model.score([[0, 1]])
        True
    """
    if isinstance(model, Circuit):
        files.save(model, path, notes)
        return
    if type(model) not in CLASSES.values():
        found = f"the class {model.__name__} itself" if isinstance(model, type) else type(model).__name__
        raise DataTypeError(f"save: expected a Circuit or a fitted {', '.join(CLASSES)}, found {found}")
    if not model.__sklearn_is_fitted__():
        raise ParameterError(f"save: this {type(model).__name__} is not fitted yet; call fit first")
    if notes and ENTRY in notes:
        raise ParameterError(f"notes: {ENTRY!r} is where the file keeps the estimator; take another name")
    files.save(model.circuit_, path, {**(notes or {}), ENTRY: _described(model)})


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `save` wrote: a fitted estimator if the file holds one, a `Circuit` otherwise.

    The circuit is the same to the last bit. `xspn.io.load` reads the circuit of any model file.
    """
    circuit, notes = files.load_with_notes(path)
    if ENTRY not in notes:
        return circuit
    source = os.fspath(path)
    try:
        return _restored(notes[ENTRY], circuit, source)
    except FormatError:
        raise
    except UNUSABLE as error:
        raise FormatError(f"{source}: the estimator cannot be restored ({error}); the file was altered") from error


# -- what a file holds -------------------------------------------------------------------------------------------------


def _described(model: Any) -> dict[str, Any]:
    own: dict[str, Any] = {"schema": SCHEMA, "version": __version__, **_class_and_params(model)}
    if isinstance(model, AroundDensity):
        own["inside"] = _described(model.estimator_)
        if isinstance(model, XSPNOutlierDetector):
            own |= {"offset": model.offset_, "reference_seed": model.reference_seed_}
        return own
    own["library"] = model.schema_.library
    if isinstance(model, DensityEstimator):
        own["presentation"] = [[v, *_ends_and_step(scale)] for v, scale in model._presentation.items()]
    if isinstance(model, XSPNClassifier):
        own["classes"] = [plain(label) for label in model.classes_]
        own["class_type"] = model.classes_.dtype.str
    return own


def _ends_and_step(scale: Scale) -> list[float | None]:
    return [scale.step, scale.least, scale.most]


def _class_and_params(model: Any) -> dict[str, Any]:
    params = {name: _plain(value, name) for name, value in model.get_params(deep=False).items()}
    return {"class": type(model).__name__, "params": params}


def _plain(value: Any, name: str) -> Any:
    """Return the value of a parameter in a form that JSON can hold."""
    value = plain(value)
    if name == "random_state" and not isinstance(value, int):
        return None  # a generator has moved on since
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Domain):
        return {DOMAIN: value.to_params()}
    if isinstance(value, Mapping):
        return {MAPPING: [[_plain(key, name), _plain(own, name)] for key, own in value.items()]}
    if isinstance(value, list | tuple) and not hasattr(value, "categories"):
        return [_plain(own, name) for own in value]
    if isinstance(value, DensityEstimator) and type(value) in CLASSES.values():
        return {NESTED: _class_and_params(value)}
    raise ParameterError(
        f"save: the parameter {name!r} holds a {type(value).__name__}, which a file cannot keep; "
        "save the model's circuit_, or set the parameter to None"
    )


# -- and back ----------------------------------------------------------------------------------------------------------


def _restored(entry: Any, circuit: Circuit, source: str) -> Any:
    if not isinstance(entry, Mapping) or entry.get("schema") != SCHEMA:
        found = entry.get("schema") if isinstance(entry, Mapping) else entry
        raise FormatError(
            f"{source}: expected an estimator of schema {SCHEMA}, found {str(found)[:40]!r}; upgrade xspn, or read the "
            "circuit alone by xspn.io.load"
        )
    model = _unfitted(entry, source)
    if isinstance(model, AroundDensity):
        model._adopt(_restored(entry["inside"], circuit, source))
        if isinstance(model, XSPNOutlierDetector):
            model.restore(float(entry["offset"]), int(entry["reference_seed"]))
        return model
    if not isinstance(model, TableInput):
        raise FormatError(f"{source}: {entry['class']} holds no circuit; the file was altered")
    library = entry["library"]
    if library is not None and not (isinstance(library, str) and _LIBRARY.fullmatch(library)):
        raise FormatError(f"{source}: {str(library)[:40]!r} is no library of tables; the file was altered")
    schema = circuit.schema
    if isinstance(model, XSPNClassifier):
        model.classes_ = _classes(entry, schema, source)
        schema = schema.take(range(len(schema) - 1))
    model.schema_, model._template = replace(schema, library=library), None
    model.circuit_ = Circuit.of_schema(circuit.graph, replace(circuit.schema, library=library), counts=circuit.counts)
    model.n_features_in_ = len(schema)
    if schema.names is not None and library is not None:
        model.feature_names_in_ = np.array(schema.names, dtype=object)
    if isinstance(model, XSPN):
        model.trace_ = Trace(())
    if isinstance(model, DensityEstimator):
        stored = {int(v): Scale(step=step, least=least, most=most) for v, step, least, most in entry["presentation"]}
        if not all(0 <= v < len(schema) for v in stored):
            raise FormatError(f"{source}: there is no column {max(stored)}; the file was altered")
        model._presentation = stored
    return model


def _unfitted(entry: Mapping[str, Any], source: str) -> Any:
    """Return an estimator of this package with the parameters of a file."""
    own = CLASSES.get(str(entry.get("class")))
    params = entry.get("params")
    if own is None or not isinstance(params, dict):
        raise FormatError(f"{source}: {str(entry.get('class'))[:40]!r} is no estimator of this package")
    known_names("parameters", params, own().get_params(deep=False))
    return own(**{name: _value(value, source) for name, value in params.items()})


def _value(stored: Any, source: str) -> Any:
    """Return the value of a parameter from what a file holds of it."""
    if isinstance(stored, list):
        return [_value(own, source) for own in stored]
    if not isinstance(stored, dict):
        return stored
    content: Any
    kind, content = next(iter(stored.items()), ("", None))
    if kind == DOMAIN:
        return Domain(**content)
    if kind == MAPPING:
        return {key: _value(own, source) for key, own in content}
    if kind == NESTED:
        return _unfitted(content, source)
    raise FormatError(f"{source}: {str(kind)[:40]!r} is no value of a parameter; the file was altered")


def _classes(entry: Mapping[str, Any], schema: Schema, source: str) -> AnyArray:
    """Return the labels of a classifier if they fit the class column of its circuit."""
    stored, kind = entry["classes"], entry["class_type"]
    domain = schema.domains[-1] if len(schema) > 1 else None
    if not isinstance(kind, str) or not _CLASS_TYPE.fullmatch(kind):
        raise FormatError(f"{source}: {str(kind)[:40]!r} is no type of labels; the file was altered")
    fits = isinstance(stored, list) and domain is not None and len(stored) == domain.cardinality
    if not fits or not all(isinstance(label, str | bool | int | float) for label in stored):
        raise FormatError(f"{source}: the classes do not fit the circuit; the file was altered")
    return np.array(stored, dtype=np.dtype(kind))
