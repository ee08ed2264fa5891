"""Lists of names on the command line."""

from longshore.cli.names import split_different_names, split_names


def test_spaces_and_empty_parts_are_left_out():
    assert split_names(" a,b ,, c d,") == ["a", "b", "c d"]
    assert split_names(" , ") == []


def test_repeats_are_kept_unless_different_names_are_wanted():
    assert split_names("a,b,a") == ["a", "b", "a"]
    assert split_different_names("a,b,a") == ["a", "b"]
