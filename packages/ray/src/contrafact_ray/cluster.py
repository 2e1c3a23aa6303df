"""Ray, started for one command or joined if it runs: quiet, no usage reports, no files left."""

import logging
import os
import pickle
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from contrafact.errors import InputError, ModelError

_Item = TypeVar("_Item")

MOST_BLOCKS = 10_000
"""The most tasks given to Ray at once; with more items, a task gets several."""

OBJECT_STORE = 512 * 1024 * 1024
"""Bytes of shared memory for a cluster that we start: rows go from file to file, and only a shuffle
passes rows on. Ray puts objects that do not fit on the disk."""

_ANSWERS = 10.0
"""Seconds within which a cluster must answer before it is joined."""

# How a gRPC client such as Ray's begins: HTTP/2's first line, and settings that change nothing.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_SETTINGS = 4

_PREFIX = "contrafact-ray-"
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported to anybody
    "RAY_DEDUP_LOGS": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_ENABLE_METRICS_COLLECTION": "0",
}


class Cluster:
    """A cluster in use.

    Attributes:
        cpus: How many processors it has now; a cluster that scales itself may get more.
        nodes: How many machines with processors it has now; a head node may have none.
        cpus_of_node: The number of processors of the smallest machine.
        dashboard: The address of Ray's dashboard, if there is one.
    """

    def __init__(self, ray: Any, dashboard: str) -> None:
        resources = ray.cluster_resources()
        self.cpus = max(1, int(resources.get("CPU", 1)))
        self.gpus = int(resources.get("GPU", 0))
        alive = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
        working = [int(cpus) for cpus in alive if cpus >= 1]
        self.nodes = max(1, len(working))
        self.cpus_of_node = min(working, default=self.cpus)
        self.dashboard = f"http://{dashboard}" if dashboard else ""


@contextmanager
def cluster(address: str | None = None) -> Iterator[Cluster]:
    """Join the cluster at an address, or start one on this machine, and leave it at the end.

    A cluster that was started here ends with the block, or with this process, however that ends;
    its files are removed, or, if the process is killed, the next start removes them.

    Args:
        address: ``auto`` (the cluster on this machine) or ``host:port``; None starts a cluster.
    """
    os.environ |= _QUIET
    if address is None and "RAY_AUTH_MODE" not in os.environ and "ray" not in sys.modules:
        # Ray would make a token too, but write it into the home folder, where it would stay.
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    import ray

    logging.getLogger("ray").setLevel(logging.CRITICAL)  # `mapped` reports errors that end the work

    if ray.is_initialized():  # by the Python program that calls us, which also ends it
        _quiet_data()
        yield Cluster(ray, "")
        return
    settings: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    folder: Path | None = None
    if address is None:
        _sweep()
        folder = Path(tempfile.gettempdir()) / f"{_PREFIX}{os.getpid()}"
        settings |= {
            "address": "local",
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE,
            "_temp_dir": str(folder),
        }
    else:
        check_address(address)
        settings["address"] = address
    try:
        try:
            with _no_native_output(), _own_signals():
                context = ray.init(**settings)
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            raise InputError(
                f"cannot use Ray at '{address or 'this machine'}': "
                f"{' '.join(str(error).split())[:300]}",
                hint="check --address, and if the cluster asks for a token, RAY_AUTH_MODE=token "
                "and RAY_AUTH_TOKEN; without --address a cluster is started on this machine"
                if address is not None
                else "if TMPDIR is long, set it to a shorter path: sockets are made in it",
            ) from error
        _quiet_data()
        yield Cluster(ray, str(getattr(context, "dashboard_url", "") or ""))
    finally:
        ray.shutdown()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def check_address(address: str) -> None:
    """Check that a server at an address may be Ray; Ray itself would keep trying for many minutes.

    Raises:
        InputError: It is not an address, nothing answers there, or the server does not speak gRPC.
    """
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        return  # by the Python program that calls us: its cluster is used
    if address == "auto":
        return
    if address.startswith("ray://"):
        raise InputError(
            f"Ray Data does not work through Ray's client ('{address}')",
            hint="submit the command as a job of the cluster: ray job submit --address "
            "http://HOST:8265 -- contrafact … --engine ray --address auto",
        )
    host, mark, port = address.rpartition(":")
    if not mark or not port.isdigit():
        raise InputError(
            f"'{address}' is not a cluster's address", hint="write --address auto or HOST:PORT"
        )
    encrypted = os.environ.get("RAY_USE_TLS", "0") not in ("0", "")
    problem = "the server there is not Ray"
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERS) as channel:
            channel.settimeout(_ANSWERS)
            if encrypted or _speaks_grpc(channel):
                return
    except (OSError, OverflowError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
    raise InputError(
        f"no cluster answers at '{address}': {problem}",
        hint="check --address; without --address a cluster is started on this machine",
    )


def _speaks_grpc(channel: socket.socket) -> bool:
    """Return whether the server begins with settings, as every HTTP/2 server must."""
    channel.sendall(_HELLO)
    head = b""
    while len(head) < 4 and (more := channel.recv(4 - len(head))):
        head += more
    return len(head) == 4 and head[3] == _SETTINGS


def _quiet_data() -> None:
    from ray.data import DataContext

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep this process's handler of SIGTERM: Ray's handler would end in a native trace."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, kept)


@contextmanager
def _no_native_output() -> Iterator[None]:
    """Silence Ray's native code while it starts; it raises its errors anyway."""
    sys.stderr.flush()
    kept = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def _sweep() -> None:
    """Remove the folders that killed processes left."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        number = folder.name.removeprefix(_PREFIX)
        if number.isdigit() and not _runs(int(number)):
            shutil.rmtree(folder, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's process
        return True
    return True


def mapped(
    items: Sequence[_Item], work: Callable[[_Item], Any], *, ordered: bool = False, **settings: Any
) -> Iterator[Any]:
    """Yield the result of ``work`` for each item, as items are finished; one task per item.

    Args:
        items: Small objects; they go to the workers, and the results come back, by pickle.
        work: A function of one item, or the class of an actor (then ``settings`` has its
            ``arguments``).
        ordered: Whether results come in the order of the items.
        settings: Settings of Ray Data's ``map``.

    Raises:
        InputError: ``work`` raised it.
        ModelError: Ray gave up the work.
    """
    from ray.data import DataContext, from_items
    from ray.exceptions import RayError

    call: Any = partial(_tried, work)
    if isinstance(work, type):
        call = _Actor
        settings["fn_constructor_args"] = (work, settings.pop("arguments"))
    DataContext.get_current().execution_options.preserve_order = ordered
    rows = [{"item": pickle.dumps(item)} for item in items]
    given = from_items(rows, override_num_blocks=max(1, min(len(rows), MOST_BLOCKS)))
    try:
        for row in given.map(call, **settings).iter_rows():
            problem, found = pickle.loads(row["found"])
            if problem is not None:
                raise InputError(**problem)
            yield found
    except RayError as error:
        # The last line of an error from Ray states the cause.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ModelError(
            "Ray gave up the work; finished partitions are kept, run the same command to go on:",
            lines[-1:],
        ) from error


class _Actor:
    """An actor of Ray Data that wraps an object of ours."""

    def __init__(self, made: type, arguments: tuple[Any, ...]) -> None:
        try:
            self._work: Callable[[Any], Any] = made(*arguments)
        except InputError as error:  # Ray would restart the actor again and again
            problem = error

            def refuse(_: object) -> Any:
                raise problem

            self._work = refuse

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return _tried(self._work, row)


def _tried(work: Callable[[Any], Any], row: dict[str, Any]) -> dict[str, Any]:
    problem: dict[str, Any] | None = None
    found: Any = None
    try:
        found = work(pickle.loads(row["item"]))
    except InputError as error:  # the caller reports it in one line
        problem = {name: getattr(error, name) for name in ("problem", "file", "line", "hint")}
    return {"found": pickle.dumps((problem, found))}
