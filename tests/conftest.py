"""Settings for the whole suite: hypothesis and `rng` draw the same examples every time, on any machine.

With HYPOTHESIS_PROFILE=explore hypothesis draws new ones (`make fuzz`), and says how to draw those again that fail.
"""

import os
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

collect_ignore_glob = ["support/toys/*"]  # they register themselves when they are imported: only where they are tested

settings.register_profile(
    "xspn",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("explore", settings.get_profile("xspn"), derandomize=False, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "xspn"))


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of random numbers for each test, always the same one."""
    return np.random.default_rng(20261105)


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, driven by Playwright; without them tests skip."""
    missing = "the package playwright is not installed; pip install playwright"
    sync_api = pytest.importorskip("playwright.sync_api", reason=missing)
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on the PATH; apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        own = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--headless"])
        yield own
        own.close()
