"""What is told about one object."""

from badac.job.story import Story


def test_a_p_value_beyond_what_the_known_objects_can_tell_says_so() -> None:
    counted = Story("a", 0.9, 0.8, 2e-7, "bump", 12.0)
    beyond = Story("a", 0.9, 0.8, 2e-7, "bump", 12.0, extrapolated=True)
    assert "(p-value 2e-07)" in counted.verdict
    assert "(p-value 2e-07, extrapolated)" in beyond.verdict
