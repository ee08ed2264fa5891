"""Less work before a program runs: options on a CPU, no dimension for one thing alone, two programs at a time."""

import jax
import jax.numpy as jnp
import pytest

from longshore.training.program.compiling import compiler_options, mapped, one_after_another


def test_a_cpu_gets_options_that_xla_knows() -> None:
    options = compiler_options()
    assert options
    assert jax.jit(lambda x: x + 1, compiler_options=options)(jnp.ones(2)).tolist() == [2.0, 2.0]


def test_accelerators_keep_what_xla_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert compiler_options() == {}
    with jax.default_device(jax.devices("cpu")[0]):
        assert compiler_options()


@pytest.mark.parametrize("number", [1, 3])
def test_one_or_several_are_mapped_as_vmap_does(number: int) -> None:
    def function(shared: jax.Array, own: dict[str, jax.Array]) -> dict[str, jax.Array]:
        return {"sum": (shared * own["a"]).sum(), "same": own["a"], "none": shared}

    shared, own = jnp.arange(4.0), {"a": jnp.arange(4.0 * number).reshape(number, 4)}
    found, want = (run(shared, own) for run in (mapped(function, (None, 0)), jax.vmap(function, (None, 0))))
    assert jax.tree.map(jnp.shape, found) == jax.tree.map(jnp.shape, want)
    assert jax.tree.all(jax.tree.map(lambda one, other: (one == other).all(), found, want))


def test_two_programs_go_one_after_another_whatever_shapes_they_are_given() -> None:
    traced: list[str] = []

    def first(data: jax.Array, state: jax.Array) -> tuple[jax.Array, jax.Array]:
        traced.append("first")
        return state + data, state.sum()

    def second(data: jax.Array, state: jax.Array, total: jax.Array) -> jax.Array:
        traced.append("second")
        return (state + total) * data

    run = one_after_another(jax.jit(first), jax.jit(second))
    data = jnp.float32(2)
    assert run(data, jnp.ones(2)).tolist() == [10.0, 10.0]
    assert run(data, jnp.zeros(2)).tolist() == [4.0, 4.0]
    assert run(data, jnp.ones(3)).tolist() == [12.0, 12.0, 12.0]
    assert traced == ["first", "second"] * 2
