"""What `longshore bench gymnasium` counts."""

from longshore_lab.speed.gym import BAR, measure


def test_measure_plays_episodes_to_their_end_and_judges_the_speed() -> None:
    cell = measure(2, 3)
    assert (cell.envs, cell.episodes) == (2, 3)
    assert cell.decisions_per_second > 0
    assert cell.within_episodes_per_second > 0
    assert cell.is_met == (cell.decisions_per_second >= BAR)
