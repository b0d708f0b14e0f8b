"""Settings for the whole suite: hypothesis and `rng` draw the same examples every time, on any machine."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "xspn",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("xspn")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of random numbers for each test, always the same one."""
    return np.random.default_rng(20261105)
