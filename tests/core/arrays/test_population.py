"""Who is where: pods by key, class and node."""

from dataclasses import replace

from longshore.core.arrays.population import Population
from support.builders import PodBuilder, make_pod


def population_of(*pods: PodBuilder) -> Population:
    population = Population()
    for pod in pods:
        built = pod.build()
        population.put(built, population.class_of(built.spec))
    return population


def test_pods_of_one_class_share_one_spec() -> None:
    population = population_of(make_pod("a").cpu(1), make_pod("b").cpu(1))
    one, other = population.pods.values()
    assert one.spec is other.spec
    assert len(population.classes) == 1


def test_a_class_knows_how_many_pods_are_where() -> None:
    population = population_of(make_pod("a").on("n"), make_pod("b").on("n"), make_pod("c").on("m"), make_pod("d"))
    (pod_class,) = population.classes.values()
    assert (pod_class.num_pods, pod_class.num_waiting, pod_class.on_nodes) == (4, 1, {"n": 2, "m": 1})
    for key in ("default/b", "default/c", "default/d"):
        population.take(key)
    assert (pod_class.num_pods, pod_class.num_waiting, pod_class.on_nodes) == (1, 0, {"n": 1})
    assert population.residents == {"n": {"default/a": population.pods["default/a"]}}


def test_classes_without_pods_are_forgotten_unless_kept() -> None:
    population = population_of(make_pod("a").cpu(1), make_pod("b").cpu(2), make_pod("c").cpu(3))
    kept = population.classes[population.pods["default/b"].spec]
    for key in ("default/a", "default/b"):
        population.take(key)
    assert population.num_classes == 1
    population.forget_unused({kept})
    assert [one.num_pods for one in population.classes.values()] == [0, 1]


def test_kinds_and_gpu_pods_are_counted() -> None:
    population = population_of(make_pod("a").cpu(5).gpu(1).on("n"), make_pod("b").cpu(5))
    assert sum(population.kinds.values()) == 2
    assert [pod.name for pod in population.gpu_pods_on("n")] == ["a"]
    population.take("default/a")
    assert population.num_gpu_pods == 0
    assert len(population.kinds) == 1


def test_another_word_about_a_pod_stands_wherever_the_pod_does() -> None:
    population = population_of(make_pod("a").on("n"), make_pod("b").on("n"))
    later = replace(population.pods["default/a"], started=5.0)
    population.renew(later)
    assert population.pods["default/a"] is population.residents["n"]["default/a"] is later
    assert list(population.residents["n"]) == ["default/a", "default/b"]
