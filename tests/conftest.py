"""Settings for the whole suite: hypothesis draws the same examples every time, whatever the machine's speed."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "xspn",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("xspn")
