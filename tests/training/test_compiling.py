"""Options for the compiler: less work on a CPU, XLA's own elsewhere."""

import jax
import jax.numpy as jnp
import pytest

from longshore.training.compiling import compiler_options


def test_a_cpu_gets_options_that_xla_knows() -> None:
    options = compiler_options()
    assert options
    assert jax.jit(lambda x: x + 1, compiler_options=options)(jnp.ones(2)).tolist() == [2.0, 2.0]


def test_accelerators_keep_what_xla_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert compiler_options() == {}
    with jax.default_device(jax.devices("cpu")[0]):
        assert compiler_options()
