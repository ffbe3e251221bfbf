"""What is configured arrives where pods are scheduled."""

import pytest

from reprieve.assembly.scheduler_settings import DEFAULT_GATES, limits_of, pace_of, settings_of
from tests.unit.config import configuration


@pytest.mark.parametrize(("rate", "at_once"), [(50.0, 64), (-1.0, 64), (0.0, 64), (5.0, 10), (0.1, 1)])
def test_no_more_is_under_way_than_may_be_sent_soon(rate: float, at_once: int) -> None:
    assert limits_of(DEFAULT_GATES, rate).at_once == at_once


@pytest.mark.parametrize(
    ("wanted", "pace"),
    [({}, (50.0, 100)), ({"qps": 0, "burst": 0}, (50.0, 100)), ({"qps": -1, "burst": 7}, (-1.0, 7))],
)
def test_how_fast_requests_may_follow_each_other(wanted: dict[str, float], pace: tuple[float, int]) -> None:
    assert pace_of(configuration(clientConnection=wanted)) == pace


def test_whose_pods_and_how_patient() -> None:
    settings = settings_of(
        configuration(
            podInitialBackoffSeconds=2,
            podMaxBackoffSeconds=60,
            profiles=[{"schedulerName": "one"}, {"schedulerName": "two"}],
        )
    )
    assert list(settings.profiles) == ["one", "two"]
    assert (settings.backoff.first, settings.backoff.longest) == (2, 60)
    assert settings.volume_seconds == 600


def test_how_long_volumes_may_take() -> None:
    args = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 30}}
    assert settings_of(configuration(profiles=[{"pluginConfig": [args]}])).volume_seconds == 30
