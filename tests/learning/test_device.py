"""Learning on a device of torch gives the models that the CPU gives; without the device the CPU does the work."""

import importlib.util

import numpy as np
import pytest

from support.cases import any_case
from xspn import MEVM, XSPN, Circuit, Gaussian, Product, Sum, XSPNClassifier
from xspn.core.errors import ParameterError
from xspn.learning.em import learning_device

torch = pytest.importorskip("torch")


def clustered(n_rows: int, seed: int) -> np.ndarray:
    """Draw rows of two clusters, told apart by two groups of columns."""
    rng = np.random.default_rng(seed)
    cluster = rng.random((n_rows, 1)) < 0.5
    p = np.where(cluster, [0.8, 0.7, 0.8, 0.1, 0.1, 0.2, 0.5, 0.5], [0.1, 0.1, 0.2, 0.9, 0.7, 0.7, 0.6, 0.2])
    return (rng.random((n_rows, 8)) < p).astype(np.uint8)


@pytest.mark.parametrize("seed", range(20))
def test_em_on_a_device_takes_the_course_that_it_takes_on_the_cpu(seed: int) -> None:
    circuit, possible, _, _ = any_case(seed)
    own, same = (
        circuit.fit_parameters(possible, n_iter=4, smoothing=0.3, tol=0.0, X_valid=possible[:5], device=device)
        for device in ("cpu", None)
    )
    np.testing.assert_allclose(own.log_likelihood(possible), same.log_likelihood(possible), atol=1e-8)


def test_em_on_a_device_fits_real_columns_and_batches() -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 1)) < 0.4, rng.normal(1e6, 1.0, (300, 2)), rng.normal(1e6 + 9, 2.0, (300, 2)))
    parts = [Product([Gaussian(v, mean, 3.0) for v in range(2)]) for mean in (1e6 - 1, 1e6 + 4)]
    circuit = Circuit(Sum([0.5, 0.5], parts))
    for batch_size in (None, 50):
        own, same = (
            circuit.fit_parameters(X, n_iter=8, batch_size=batch_size, random_state=0, device=device)
            for device in ("cpu", None)
        )
        np.testing.assert_allclose(own.log_likelihood(X), same.log_likelihood(X), atol=1e-6)


def test_models_learned_on_a_device_are_as_good() -> None:
    X, new = clustered(400, 0), clustered(1000, 1)
    own, same = (XSPN(quality="balanced", device=device, random_state=0).fit(X) for device in ("cpu", None))
    assert own.score(new) == pytest.approx(same.score(new), abs=0.01)
    assert "hclts" in {component.kind for component in own.search_.components}
    assert own.provenance_ == same.provenance_
    first, second = (MEVM(4, random_state=0, device=device).fit(X) for device in ("cpu", None))
    assert first.score(new) == pytest.approx(second.score(new), abs=1e-6)
    labels = new[:, 0]
    classifier = XSPNClassifier(quality="balanced", device="cpu", random_state=0).fit(new[:, 1:], labels)
    assert classifier.score(new[:, 1:], labels) > 0.7


def test_a_device_that_is_not_there_is_named_and_the_cpu_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    X = clustered(200, 0)
    with pytest.warns(RuntimeWarning, match=r"device='cuda': torch .* sees no CUDA device; learning goes on"):
        own = MEVM(2, random_state=0, device="cuda").fit(X)
    np.testing.assert_array_equal(own.score_samples(X), MEVM(2, random_state=0).fit(X).score_samples(X))
    with pytest.warns(RuntimeWarning, match="sees no CUDA device"):
        own.circuit_.fit_parameters(X, n_iter=1, device="cuda:1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.warns(RuntimeWarning, match="torch sees only 2 CUDA devices"):
        assert learning_device("cuda:2") is None
    assert learning_device("cuda:1") == "cuda:1"
    find = importlib.util.find_spec
    monkeypatch.setattr("xspn.learning.em.fit.find_spec", lambda name: None if name == "torch" else find(name))
    with pytest.warns(RuntimeWarning, match="the package torch is not installed"):
        assert learning_device("cpu") is None


@pytest.mark.parametrize("device", ["gpu", "cuda:", "mps", "", 0, torch.device("cpu")])
def test_what_is_no_device_is_refused_before_anything_is_learned(device: object) -> None:
    X = clustered(50, 0)
    for job in (
        XSPN(device=device).fit,
        XSPN(quality="balanced", device=device).fit,
        MEVM(2, device=device).fit,
        lambda rows: MEVM(2).fit(rows).circuit_.fit_parameters(rows, device=device),
    ):
        with pytest.raises(ParameterError, match="device: expected None, 'cpu', 'cuda'"):
            job(X)
