"""Tests of the exception tree: messages, hints, exit codes, and the way through a process boundary."""

import pickle

import pytest

from longshore.core.words import errors

EVERY_ERROR = (
    errors.LongshoreError("it failed"),
    errors.LongshoreError("it failed", "try again"),
    errors.InputError("got `1`, expected `2`"),
    errors.ComponentMissingError("oracle", "make controlplane"),
    errors.UnknownNameError("filter", "node-prts", ["node-ports", "node-name"]),
    errors.QuantityError("got `1x`, expected a quantity"),
    errors.ObjectError("Pod", "default/web", "spec.containers[0].image", "got `7`, expected text"),
    errors.UserTermError("`mine` gave nan"),
)


def test_a_hint_is_a_line_of_its_own() -> None:
    assert str(errors.LongshoreError("it failed")) == "it failed"
    assert str(errors.LongshoreError("it failed", "try again")) == "it failed\nhint: try again"


@pytest.mark.parametrize("error", EVERY_ERROR, ids=lambda error: type(error).__name__)
def test_bad_input_exits_with_2_and_all_else_with_1(error: errors.LongshoreError) -> None:
    assert error.exit_code == (2 if isinstance(error, errors.InputError) else 1)


@pytest.mark.parametrize("error", EVERY_ERROR, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling(error: errors.LongshoreError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
    assert copy.args == error.args


def test_unknown_name_offers_the_nearest_and_lists_the_valid() -> None:
    error = errors.UnknownNameError("policy", "best-fti", ["first-fit", "best-fit"])
    assert str(error) == (
        "unknown policy `best-fti`; expected one of: `first-fit`, `best-fit`\nhint: did you mean `best-fit`?"
    )


def test_unknown_name_lists_a_few_of_many_names() -> None:
    message = errors.UnknownNameError("pod", "shop/web-1x", [f"shop/web-{i}" for i in range(5000)]).message
    assert message.endswith("`shop/web-23` and 4976 more")


def test_unknown_name_without_a_near_one_gives_no_hint() -> None:
    assert errors.UnknownNameError("policy", "zzz", ["best-fit"]).hint is None
    assert str(errors.UnknownNameError("policy", "zzz", [])) == "unknown policy `zzz`; expected one of: none"


@pytest.mark.parametrize(
    ("got", "want"),
    [("Best_Fit", "best-fit"), ("kube-defualt", "kube-default"), ("best-fitting", "best-fit"), ("qqqq", None)],
)
def test_nearest_name_forgives_slips(got: str, want: str | None) -> None:
    assert errors.nearest_name(got, ["kube-default", "best-fit", "worst-fit"]) == want


def test_object_error_names_object_field_and_reason() -> None:
    error = errors.ObjectError("Pod", "default/web", "spec.nodeName", "got `7`, expected text")
    assert str(error) == "Pod `default/web`: field `spec.nodeName`: got `7`, expected text"
    assert (error.kind, error.name, error.field) == ("Pod", "default/web", "spec.nodeName")


def test_component_missing_names_the_command() -> None:
    assert str(errors.ComponentMissingError("oracle", "make controlplane")) == (
        "`oracle` is missing on this machine\nhint: `make controlplane` provides it"
    )


def test_an_error_that_is_raised_anew_with_itself_as_its_message_reads_the_same() -> None:
    """Gymnasium does so with the errors of its workers."""
    error = errors.InputError("got 7, expected text", "write it in quotes")
    assert str(errors.InputError(error)) == str(error)  # type: ignore[arg-type]
