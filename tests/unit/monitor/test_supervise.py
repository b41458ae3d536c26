"""The pause before a dead child is started again."""

import pytest

from trailhound.supervise import MAX_DELAY_S, restart_delay


@pytest.mark.parametrize(
    ("deaths", "now", "delay"),
    [
        ([100.0], 100.0, 0.0),
        ([99.0, 100.0], 100.0, 0.25),
        ([98.0, 99.0, 100.0], 100.0, 0.5),
        ([10.0, 100.0], 100.0, 0.0),
        ([float(n) for n in range(80, 101)], 100.0, MAX_DELAY_S),
    ],
    ids=["first", "second", "third", "long ago", "many"],
)
def test_the_first_restart_is_at_once_and_later_ones_wait_longer(deaths: list[float], now: float, delay: float) -> None:
    assert restart_delay(deaths, now) == delay


def test_at_most_a_dozen_starts_in_a_minute() -> None:
    now, deaths = 0.0, list[float]()
    while now < 60.0:
        deaths.append(now)
        now += max(0.01, restart_delay(deaths, now))
    assert len(deaths) <= 13
