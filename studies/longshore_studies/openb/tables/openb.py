"""Reads the openb GPU cluster trace: its nodes, and any of its pod lists, from the published CSV files.

The files come from a clone of alibaba/clusterdata (cluster-trace-gpu-v2023) or of the simulator that the tables were
published with; none of them is part of longshore.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError, UnknownNameError
from longshore.core.words.node import MAX_DEVICES

NODE_FILE = "openb_node_list_gpu_node.csv"
"""The published runs use the nodes with GPUs alone."""
POD_PREFIX = "openb_pod_list_"
GPU_MILLI = 1000
"""What a whole GPU is counted as."""

_MOST_AMOUNT = 1 << 40
"""Thousandths of a CPU, or MiB, of a pod or a node: beyond any machine, and in bytes still an int64."""
_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_WHERE_FROM = (
    "point to the folder `csv` or `data` of a clone of alibaba/clusterdata (cluster-trace-gpu-v2023) or of "
    f"hkust-adsl/kubernetes-scheduler-simulator that holds `{NODE_FILE}` and `{POD_PREFIX}NAME.csv`"
)


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a cluster, in the order of the file."""

    names: tuple[str, ...]
    cpu_milli: Array  # [nodes] int64
    memory_mib: Array  # [nodes] int64
    gpu_count: Array  # [nodes] int64
    model: tuple[str, ...]
    """Each node's GPU model; a node has GPUs of one model only."""

    @property
    def gpu_capacity_milli(self) -> int:
        return int(self.gpu_count.sum()) * GPU_MILLI


@dataclass(frozen=True, eq=False)
class Pods:
    """A pod list, in the order of the file."""

    names: tuple[str, ...]
    cpu_milli: Array  # [pods] int64
    memory_mib: Array  # [pods] int64
    gpu_count: Array  # [pods] int64
    gpu_milli: Array  # [pods] int64, of each of its GPUs: 0 without GPUs, below 1000 for a share of one
    models: tuple[tuple[str, ...], ...]
    """The GPU models that each pod may use; none named = any."""
    created: Array | None  # [pods] float64 seconds; None where the list has no such column
    deleted: Array | None  # [pods] float64 seconds

    @property
    def total_gpu_milli(self) -> Array:
        """[pods] int64: what each pod takes of the cluster's GPUs."""
        return self.gpu_count * self.gpu_milli


def find_traces(folder: Path) -> tuple[str, ...]:
    """Return the names of the pod lists in `folder`, sorted: `default` for `openb_pod_list_default.csv`."""
    if not folder.is_dir():
        raise InputError(f"got `{folder}` for the trace, expected a folder", _WHERE_FROM)
    names = tuple(sorted(path.stem.removeprefix(POD_PREFIX) for path in folder.glob(f"{POD_PREFIX}*.csv")))
    if not names:
        raise InputError(f"got `{folder}`, which has no `{POD_PREFIX}NAME.csv`; expected at least one", _WHERE_FROM)
    return names


def read_nodes(folder: Path) -> Nodes:
    """Read the nodes with GPUs."""
    table = read_table(folder / NODE_FILE, _NODE_COLUMNS, _WHERE_FROM)
    gpu_count = table.integers("gpu", MAX_DEVICES)
    if gpu_count.sum() == 0:
        raise InputError(f"`{table.path}`: got no GPU on any node, expected at least one", _WHERE_FROM)
    return Nodes(
        names=table.names("sn"),
        cpu_milli=table.integers("cpu_milli"),
        memory_mib=table.integers("memory_mib"),
        gpu_count=gpu_count,
        model=table.texts("model"),
    )


def read_pods(folder: Path, trace: str) -> Pods:
    """Read the pod list of one name.

    A pod without GPUs takes no part of one, and a pod with several takes them whole: the published simulator knows no
    shares of several GPUs.
    """
    traces = find_traces(folder)
    if trace not in traces:
        raise UnknownNameError("trace", trace, traces)
    table = read_table(folder / f"{POD_PREFIX}{trace}.csv", _POD_COLUMNS, _WHERE_FROM)
    gpu_count = table.integers("num_gpu", MAX_DEVICES)
    gpu_milli = np.where(gpu_count > 1, GPU_MILLI, np.where(gpu_count == 0, 0, table.integers("gpu_milli")))
    wrong = np.flatnonzero((gpu_milli > GPU_MILLI) | ((gpu_count > 0) & (gpu_milli == 0)))
    if len(wrong):
        expected = f"1 to {GPU_MILLI} for a pod with a GPU"
        raise table.error(int(wrong[0]), "gpu_milli", str(gpu_milli[wrong[0]]), expected)
    return Pods(
        names=table.names("name"),
        cpu_milli=table.integers("cpu_milli"),
        memory_mib=table.integers("memory_mib"),
        gpu_count=gpu_count,
        gpu_milli=gpu_milli,
        models=tuple(
            tuple(model for model in text.split("|") if model)
            for text in (table.texts("gpu_spec") if table.has("gpu_spec") else [""] * len(table.rows))
        ),
        created=table.floats("creation_time") if table.has("creation_time") else None,
        deleted=table.floats("deletion_time") if table.has("deletion_time") else None,
    )


@dataclass(frozen=True)
class Table:
    """A CSV file that is checked as it is read, with messages that name the line."""

    path: Path
    columns: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]
    """The line of the file that each row ends on, for messages."""

    def has(self, column: str) -> bool:
        return column in self.columns

    def texts(self, column: str) -> tuple[str, ...]:
        index = self.columns.index(column)
        return tuple(row[index].strip() for row in self.rows)

    def names(self, column: str) -> tuple[str, ...]:
        names = self.texts(column)
        seen: set[str] = set()
        for row, name in enumerate(names):
            if not name or name in seen:
                raise self.error(row, column, name, "a name that no other row has")
            seen.add(name)
        return names

    def integers(self, column: str, most: int = _MOST_AMOUNT) -> Array:
        expected = f"a whole number from 0 to {most}"
        numbers = np.array([*self._numbers(column, int, expected)], dtype=np.int64)
        for row in np.flatnonzero(numbers > most):
            raise self.error(int(row), column, str(numbers[row]), expected)
        return numbers

    def floats(self, column: str) -> Array:
        return np.array([*self._numbers(column, float, "a number, 0 or above")], dtype=np.float64)

    def _numbers(self, column: str, kind: type[int] | type[float], expected: str) -> Iterator[float]:
        for row, text in enumerate(self.texts(column)):
            try:
                number = kind(text)
            except ValueError:
                raise self.error(row, column, text, expected) from None
            # 2^53 is far above any quantity, and nan is neither above nor below it.
            if not 0 <= number < 1 << 53:
                raise self.error(row, column, text, expected)
            yield number

    def error(self, row: int, column: str, got: str, expected: str) -> InputError:
        place = f"`{self.path}`, line {self.lines[row]}, column `{column}`"
        return InputError(f"{place}: got `{got}`, expected {expected}", "mend the line, or fetch the file again")


def read_table(path: Path, required: tuple[str, ...], where_from: str) -> Table:
    """Read a CSV file that has at least the required columns, and a row; `where_from` says how to get the file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            columns = tuple(column.strip() for column in next(reader, []))
            read = [(reader.line_num, row) for row in reader if row]
    except FileNotFoundError:
        raise InputError(f"got no file `{path}`, expected one", where_from) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"`{path}`: got {error}, expected a readable CSV file", where_from) from error
    missing = [column for column in required if column not in columns]
    if missing:
        raise InputError(
            f"`{path}`: got the columns {', '.join(columns) or 'none'}; expected {', '.join(missing)} too", where_from
        )
    if not read:
        raise InputError(f"`{path}`: got no rows, expected at least one", "fetch the file again")
    for line, row in read:
        if len(row) != len(columns):
            message = f"`{path}`, line {line}: got {len(row)} values, expected {len(columns)}"
            raise InputError(message, "mend the line, or fetch the file again")
    return Table(path, columns, [row for _, row in read], [line for line, _ in read])
