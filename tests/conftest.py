"""Which examples hypothesis tries: the same few on every run, or as many new ones as a soak allows.

`make test` uses the first, `make soak` the second.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    # A busy machine makes drawing slow, which says nothing about the code.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak",
    settings.get_profile("default"),
    derandomize=False,
    max_examples=3000,
    print_blob=True,
)
settings.load_profile("default")
