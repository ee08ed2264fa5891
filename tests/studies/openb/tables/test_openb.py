"""Small files in the published form, and everything that can be wrong with them."""

from pathlib import Path

import numpy as np
import pytest

from longshore.core.words.errors import InputError
from longshore_studies.openb.tables.openb import NODE_FILE, find_traces, read_nodes, read_pods

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\nn0,96000,393216,8,G2\n"
FULL_HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)
FULL = (
    f"{FULL_HEADER}\n"
    "p0,12000,16384,1,460,,LS,Running,0,12537496,0\n"
    "p1,6000,12288,2,1000,V100M16|V100M32,BE,Failed,427061,12902960,\n"
    "p2,1000,1024,0,0,,BE,Running,5,6,5\n"
)
SHORT = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,12000,16384,1,1000\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / NODE_FILE).write_text(NODES)
    (tmp_path / "openb_pod_list_full.csv").write_text(FULL)
    (tmp_path / "openb_pod_list_short.csv").write_text(SHORT)
    return tmp_path


def write_pods(folder: Path, text: str) -> None:
    (folder / "openb_pod_list_own.csv").write_text(text)


def test_nodes_keep_the_order_of_the_file(folder: Path) -> None:
    nodes = read_nodes(folder)
    assert nodes.names == ("n1", "n0")
    assert nodes.cpu_milli.tolist() == [64000, 96000]
    assert nodes.memory_mib.tolist() == [262144, 393216]
    assert nodes.gpu_count.tolist() == [2, 8]
    assert nodes.model == ("P100", "G2")
    assert nodes.gpu_capacity_milli == 10_000


def test_pods_have_all_that_the_table_needs(folder: Path) -> None:
    pods = read_pods(folder, "full")
    assert pods.names == ("p0", "p1", "p2")
    assert pods.cpu_milli.tolist() == [12000, 6000, 1000]
    assert pods.memory_mib.tolist() == [16384, 12288, 1024]
    assert pods.gpu_count.tolist() == [1, 2, 0]
    assert pods.gpu_milli.tolist() == [460, 1000, 0]
    assert pods.total_gpu_milli.tolist() == [460, 2000, 0]
    assert pods.models == ((), ("V100M16", "V100M32"), ())
    assert pods.created is not None
    assert pods.created.tolist() == [0.0, 427061.0, 5.0]
    assert pods.deleted is not None
    assert pods.deleted.tolist() == [12537496.0, 12902960.0, 6.0]


def test_short_list_has_no_times_and_any_model(folder: Path) -> None:
    pods = read_pods(folder, "short")
    assert (pods.models, pods.created, pods.deleted) == (((),), None, None)


def test_columns_may_come_in_any_order(folder: Path) -> None:
    write_pods(folder, "gpu_milli,num_gpu,name,memory_mib,cpu_milli\n300,1,p0,2,1\n")
    pods = read_pods(folder, "own")
    assert (pods.names, pods.cpu_milli.tolist(), pods.gpu_milli.tolist()) == (("p0",), [1], [300])


def test_several_gpus_are_whole_and_no_gpu_is_none(folder: Path) -> None:
    write_pods(folder, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,2,500\nb,1,1,0,700\n")
    assert read_pods(folder, "own").gpu_milli.tolist() == [1000, 0]


def test_quantities_are_whole_numbers(folder: Path) -> None:
    assert {array.dtype for array in (read_nodes(folder).gpu_count, read_pods(folder, "full").gpu_milli)} == {
        np.dtype(np.int64)
    }


def test_find_traces_lists_the_pod_lists(folder: Path) -> None:
    assert find_traces(folder) == ("full", "short")


def test_folder_without_lists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"openb_pod_list_NAME\.csv"):
        find_traces(tmp_path)
    with pytest.raises(InputError, match="expected a folder"):
        find_traces(tmp_path / "nowhere")


def test_unknown_trace_names_the_known(folder: Path) -> None:
    with pytest.raises(InputError, match=r"unknown trace `ful`.*`full`, `short`"):
        read_pods(folder, "ful")


def test_missing_node_file_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"no file .*{NODE_FILE}") as caught:
        read_nodes(tmp_path)
    assert "alibaba/clusterdata" in str(caught.value)


def test_nodes_without_gpus_are_refused(folder: Path) -> None:
    (folder / NODE_FILE).write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,0,\n")
    with pytest.raises(InputError, match="no GPU on any node"):
        read_nodes(folder)


def test_a_node_with_more_gpus_than_any_is_named(folder: Path) -> None:
    (folder / NODE_FILE).write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,1000000,T4\n")
    with pytest.raises(InputError, match=r"line 2, column `gpu`: got `1000000`, expected a whole number from 0 to 64"):
        read_nodes(folder)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "no rows"),
        ("a,1,1,1,1000\nb,1,x,1,1000\n", r"line 3, column `memory_mib`: got `x`, expected a whole number"),
        ("a,-1,1,1,1000\n", r"line 2, column `cpu_milli`: got `-1`"),
        ("a,1.5,1,1,1000\n", r"column `cpu_milli`: got `1.5`"),
        (f"a,1,{1 << 41},1,1000\n", r"column `memory_mib`: got `2199023255552`, expected a whole number from 0 to"),
        ("a,1,1,65,1000\n", r"column `num_gpu`: got `65`, expected a whole number from 0 to 64"),
        ("a,1,1,1,1001\n", r"line 2, column `gpu_milli`: got `1001`, expected 1 to 1000"),
        ("a,1,1,1,0\n", r"column `gpu_milli`: got `0`"),
        ("a,1,1,1\n", r"line 2: got 4 values, expected 5"),
        ("a,1,1,1,1000\na,1,1,1,1000\n", r"line 3, column `name`: got `a`, expected a name that no other row has"),
        (",1,1,1,1000\n", r"line 2, column `name`: got ``"),
    ],
)
def test_bad_rows_are_named(folder: Path, rows: str, message: str) -> None:
    write_pods(folder, f"name,cpu_milli,memory_mib,num_gpu,gpu_milli\n{rows}")
    with pytest.raises(InputError, match=message):
        read_pods(folder, "own")


@pytest.mark.parametrize("time", ["soon", "nan", "-1", "inf"])
def test_bad_times_are_named(folder: Path, time: str) -> None:
    write_pods(folder, f"{FULL_HEADER}\np0,1,1,1,460,,LS,Running,{time},9,0\n")
    with pytest.raises(InputError, match=f"column `creation_time`: got `{time}`"):
        read_pods(folder, "own")


def test_missing_columns_are_named(folder: Path) -> None:
    write_pods(folder, "name,cpu_milli\na,1\n")
    with pytest.raises(InputError, match="expected memory_mib, num_gpu, gpu_milli too"):
        read_pods(folder, "own")


def test_file_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / "openb_pod_list_own.csv").write_bytes(b"\xff\xfe\x00name")
    with pytest.raises(InputError, match="expected a readable CSV file"):
        read_pods(folder, "own")
