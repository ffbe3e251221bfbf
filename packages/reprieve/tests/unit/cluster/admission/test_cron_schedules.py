"""Schedules: what they mean, across days, months and clocks that are set."""

from datetime import UTC, datetime

import pytest

from reprieve.cluster.admission.cron_schedules import Crontab, ScheduleError, schedule_of, zone_of


def following(text: str, after: str, zone: str = "", count: int = 1) -> list[str]:
    schedule, at = schedule_of(text, zone), datetime.fromisoformat(f"{after}Z").timestamp()
    found = []
    for _ in range(count):
        next_at = schedule.after(at)
        assert next_at is not None
        at = next_at
        found.append(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    return found


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("* * * * *", "2026-01-01T12:00:30", "2026-01-01T12:01:00"),
        ("0 8 * * 1-5", "2026-01-02T09:00:00", "2026-01-05T08:00:00"),
        ("*/15 6-16/4 * * *", "2026-01-01T06:45:00", "2026-01-01T10:00:00"),
        ("30 2 29 2 *", "2026-01-01T00:00:00", "2028-02-29T02:30:00"),
        ("0 0 13 * fri", "2026-01-01T00:00:00", "2026-01-02T00:00:00"),
        ("0 0 1-7 * ?", "2026-01-08T00:00:00", "2026-02-01T00:00:00"),
        ("5/20 * * jan,mar *", "2026-01-31T23:46:00", "2026-03-01T00:05:00"),
        ("@hourly", "2026-01-01T12:00:00", "2026-01-01T13:00:00"),
        ("@weekly", "2026-01-01T12:00:00", "2026-01-04T00:00:00"),
        ("@yearly", "2026-01-01T00:00:00", "2027-01-01T00:00:00"),
        ("@every 1m30s", "2026-01-01T12:00:00", "2026-01-01T12:01:30"),
    ],
)
def test_the_next_time(text: str, after: str, expected: str) -> None:
    assert following(text, after) == [expected]


def test_a_time_zone() -> None:
    assert following("0 8 * * *", "2026-01-01T00:00:00", "Asia/Tokyo") == ["2026-01-01T23:00:00"]
    assert following("0 8 * * *", "2026-07-01T00:00:00", "Europe/Berlin") == ["2026-07-01T06:00:00"]


def test_clocks_that_are_set() -> None:
    spring = following("30 2 * * *", "2026-03-27T12:00:00", "Europe/Berlin", 2)
    assert spring == ["2026-03-28T01:30:00", "2026-03-30T00:30:00"], "half past two was left out that night"
    autumn = following("30 2 * * *", "2026-10-24T12:00:00", "Europe/Berlin", 2)
    assert autumn == ["2026-10-25T00:30:00", "2026-10-25T01:30:00"], "and there twice in that one"


def test_never() -> None:
    assert schedule_of("0 0 31 2 *").after(0) is None


@pytest.mark.parametrize("zone", ["", "Pacific/Apia", "Pacific/Niue"])
@pytest.mark.parametrize("moment", [253_402_300_799.0, -62_135_596_800.0])
def test_at_the_ends_of_all_dates_nothing_fails(moment: float, zone: str) -> None:
    found = schedule_of("0 0 * * *", zone).after(moment)
    assert found is None if moment > 0 else found is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "60 * * * *",
        "* * 0 * *",
        "* * * * 7",
        "5-1 * * * *",
        "*/0 * * * *",
        "@often",
        "a * * * *",
    ],
)
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(ScheduleError, match="must have"):
        schedule_of(text)


@pytest.mark.parametrize("name", ["Nowhere", "../etc/passwd", "Europe/"])
def test_zones_that_there_are_not(name: str) -> None:
    with pytest.raises(ScheduleError, match="Europe/Berlin"):
        zone_of(name)


def _moment(text: str) -> float:
    return datetime.fromisoformat(f"{text}Z").timestamp()


@pytest.mark.parametrize(
    ("text", "since", "now", "expected"),
    [
        ("* * * * *", "2026-01-01T00:00:00", "2046-06-07T08:09:10", "2046-06-07T08:09:00"),
        ("*/1 0-22 * * *", "2016-01-01T00:00:00", "2026-01-01T23:30:00", "2026-01-01T22:59:00"),
        ("* * 1 1 *", "2010-01-01T00:00:00", "2026-12-31T12:00:00", "2026-01-01T23:59:00"),
        ("30 2 29 2 *", "2010-01-01T00:00:00", "2027-01-01T00:00:00", "2024-02-29T02:30:00"),
        ("@hourly", "2026-01-01T12:00:00", "2026-01-01T13:00:00", "2026-01-01T13:00:00"),
        ("@hourly", "2026-01-01T12:00:00", "2026-01-01T12:59:59", None),
        ("0 0 30 2 *", "2010-01-01T00:00:00", "2027-01-01T00:00:00", None),
        ("@every 1s", "2010-01-01T00:00:00", "2027-01-01T00:00:00", "2027-01-01T00:00:00"),
        ("@every 7h", "2026-01-01T00:00:00", "2026-01-02T00:00:00", "2026-01-01T21:00:00"),
        ("@every 7h", "2026-01-01T00:00:00", "2026-01-01T06:00:00", None),
    ],
)
def test_the_latest_time_after_a_long_pause(
    text: str, since: str, now: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not looked for among all the times that were missed."""
    calls = 0

    def counted(self: Crontab, moment: float) -> float | None:
        nonlocal calls
        calls += 1
        return after(self, moment)

    after = Crontab.after
    monkeypatch.setattr(Crontab, "after", counted)
    found = schedule_of(text).latest(_moment(since), _moment(now))
    assert found == (None if expected is None else _moment(expected))
    assert calls < 60
