"""Tests of what is kept of a cluster on disk: names, records, locks and ports."""

import socket
from pathlib import Path

import pytest

from longshore.core.words.errors import InputError, LongshoreError, UnknownNameError
from longshore_lab.cluster import state
from longshore_lab.cluster.processes import ProcessRecord
from longshore_lab.cluster.state import ClusterOptions, ClusterRecord, PartRecord

pytestmark = pytest.mark.usefixtures("own_cache")


def record_of(name: str, **fields: object) -> ClusterRecord:
    state.cluster_folder(name).mkdir(parents=True)
    record = ClusterRecord(options=ClusterOptions(name=name), **fields)  # type: ignore[arg-type]
    state.write_record(record)
    return record


@pytest.mark.parametrize("name", ["a", "longshore", "test-1", "0", "a" * 30])
def test_a_plain_name_is_taken(name: str) -> None:
    state.check_name(name)


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "-a", "a-", "a" * 31, "a b", "a\n", ".hidden", "ü"])
def test_a_name_that_is_no_plain_folder_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="expected at most 30 small letters"):
        state.check_name(name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ClusterOptions(nodes=-1), "got --nodes -1"),
        (ClusterOptions(nodes=20_001), "got --nodes 20001"),
        (ClusterOptions(real_nodes=-1), "got --real-nodes -1"),
        (ClusterOptions(node_cpu="0"), "got --node-cpu 0"),
        (ClusterOptions(node_memory="much"), "much"),
    ],
)
def test_what_no_cluster_can_be_made_of_is_refused(options: ClusterOptions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        state.check_options(options)


def test_a_record_is_read_as_it_was_written() -> None:
    part = PartRecord(name="etcd", command=["etcd", "--x"], port=1, process=ProcessRecord(7, "boot/8"))
    record = record_of("one", ports={"etcd": 1}, parts={"etcd": part}, is_ready=True)
    assert state.read_record("one") == record


def test_an_unknown_cluster_names_those_that_are_there() -> None:
    record_of("one")
    with pytest.raises(UnknownNameError, match="unknown cluster `two`; expected one of: `one`"):
        state.read_record("two")


def test_an_unreadable_record_names_the_command_that_clears_it_away() -> None:
    record_of("one")
    (state.cluster_folder("one") / "cluster.json").write_text("{")
    with pytest.raises(LongshoreError, match=r"longshore cluster down --name one"):
        state.read_record("one")


def test_the_list_has_those_with_a_record(own_cache: Path) -> None:
    assert state.cluster_names() == []
    record_of("two")
    record_of("one")
    (own_cache / "clusters" / "empty").mkdir()
    assert state.cluster_names() == ["one", "two"]


def test_two_at_a_time_do_not_hold_one_cluster() -> None:
    with state.lock("one"):
        with (
            pytest.raises(LongshoreError, match="another command is starting or stopping the cluster `one`"),
            state.lock("one"),
        ):
            pass
        with state.lock("two"):
            pass
    with state.lock("one"):
        pass


def test_ports_are_those_of_no_other_cluster_and_stay() -> None:
    one, two = record_of("one"), record_of("two")
    state.claim_ports(one, ["a", "b"])
    state.claim_ports(two, ["a", "b"])
    assert len({*one.ports.values(), *two.ports.values()}) == 4
    before = dict(one.ports)
    state.claim_ports(one, ["a", "c"])
    assert {name: one.ports[name] for name in before} == before
    assert state.read_record("one").ports == one.ports


def test_a_broken_record_of_one_cluster_keeps_no_other_from_its_ports() -> None:
    record_of("broken")
    (state.cluster_folder("broken") / "cluster.json").write_text("{")
    record = record_of("one")
    state.claim_ports(record, ["a"])
    assert record.ports["a"]


def test_a_port_that_somebody_listens_on_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        busy = listener.getsockname()[1]
        monkeypatch.setattr(state, "_PORTS", range(busy, busy + 50))
        record = record_of("one")
        state.claim_ports(record, ["a"])
    assert record.ports["a"] > busy
