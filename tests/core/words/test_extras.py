"""Which extra a missing package comes with."""

import pytest

from longshore.core.words.extras import missing_extra


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("jax", "train"),
        ("jax.numpy", "train"),
        ("prometheus_client", "live"),
        ("sqlalchemy", "live"),
        ("psycopg", "live"),
        ("optuna", "sweep"),
    ],
)
def test_a_missing_module_is_answered_with_its_extra(module: str, extra: str) -> None:
    found = missing_extra(ModuleNotFoundError(f"No module named {module!r}", name=module))
    assert found is not None
    assert found.extra == extra
    assert f"pip install 'longshore[{extra}]'" in str(found)
    assert "\n" not in str(found)


@pytest.mark.parametrize("module", ["numpy", "nobody", "longshore.no_such_room", None])
def test_other_modules_have_none(module: str | None) -> None:
    assert missing_extra(ModuleNotFoundError(name=module)) is None


def test_what_users_and_developers_need_comes_with_the_users_extra() -> None:
    missing = missing_extra(ModuleNotFoundError("No module named 'jupytext'", name="jupytext"))
    assert missing is not None
    assert missing.extra == "notebook"
