"""Compare what two checkouts of the project write: a safety net under a refactoring.

    python tools/golden.py record CHECKOUT OUT
    python tools/golden.py compare OLD NEW

``record`` runs a fixed list of command lines from a checkout's sources, in the environment of the
Python that runs this file, and keeps of each its exit code, its standard output and error, every
file it wrote, and every distinct request it sent to a model. Models are a stand-in on loopback
(``golden_inputs.py``), which answers equal requests equally; no key and no network is needed. A
command that a checkout does not have is recorded as missing.

``compare`` takes two records, leaves out what may differ (times, paths, ports, hashes that name a
run, Inspect's logs, the pictures themselves), and prints what else differs: cells of tables by row
and column, values of JSON by their path, other text as lines. It ends with a count, and with exit
code 1 if there is any difference. What is known to differ is declared:

    --rename OLD=NEW           a wording; taken for the same wherever it stands in the old record
    --rename-column OLD=NEW    a column of tables or a key of JSON
    --renames FILE             the first in a file: a line each, old and new divided by a tab
    --ignore PATTERN           files or commands, as in 'report/*' or '*/results.json'
    --ignore-key NAME          a column of tables or a key of JSON, in both records

Two records of one checkout are equal; if they are not, the project (or this file) is at fault.
"""

import argparse
import contextlib
import csv
import difflib
import fnmatch
import gc
import importlib
import importlib.metadata
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).parent))
from golden_inputs import MODELS, Service, Step, all_steps, write_inputs

__all__ = ["main"]

PORT = 18_763
TIMEOUT = 120.0

# Recording.

_PRELOADED = (
    *("inspect_ai", "inspect_ai.log", "openai", "acp", "pandas", "pyarrow.parquet", "httpx"),
    *("scipy.stats", "sklearn.linear_model", "sklearn.feature_extraction.text", "spacy"),
    *("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
    *("typer", "rich.table", "rich.progress", "jinja2", "sqlalchemy", "alembic", "datasketch"),
)


def _serve_forks(entry: str, work: str) -> None:
    """Run command lines in forks of this process, which has imported what is not the project's.

    Reads a JSON object a line from standard input (arguments, folder of the streams, environment)
    and answers with the exit code, or null where a command took too long.
    """
    for name in _PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    _hide_plugins()
    gc.collect()
    gc.freeze()
    os.chdir(work)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _be_command(entry, request)
        deadline = time.monotonic() + TIMEOUT
        ended, status = os.waitpid(child, os.WNOHANG)
        while not ended and time.monotonic() < deadline:
            time.sleep(0.005)
            ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        print(json.dumps(os.waitstatus_to_exitcode(status) if ended else None), file=answers)
        answers.flush()


def _hide_plugins() -> None:
    """Let nobody find plugins of the project that somebody has installed besides."""
    find = importlib.metadata.distributions

    def found(**about: Any) -> Iterator[importlib.metadata.Distribution]:
        for one in find(**about):
            if not re.match(r"contrafact[-_.]", one.metadata["Name"] or "", re.IGNORECASE):
                yield one

    importlib.metadata.distributions = found


def _be_command(entry: str, request: dict[str, Any]) -> NoReturn:
    os.setsid()
    streams = ("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY), ("stderr", os.O_WRONLY)
    for number, (name, mode) in enumerate(streams):
        path = Path(request["folder"]) / name
        opened = os.open(path, mode | (os.O_CREAT if number else 0), 0o644)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - the parent's was read
    sys.argv = ["contrafact", *request["arguments"]]
    code: object = 0
    try:
        module, _, name = entry.partition(":")
        getattr(importlib.import_module(module), name)()
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001 - the interpreter would print it and end with 1
        traceback.print_exc()
        code = 1
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


class _Forks:
    """The process whose forks are the commands."""

    def __init__(self, entry: str, work: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "forks", entry, str(work)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: Sequence[str], folder: Path) -> int | None:
        """Return the exit code of a command line; its streams are files in a folder."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(
            json.dumps({"arguments": list(arguments), "folder": str(folder)}),
            file=self._process.stdin,
            flush=True,
        )
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("the process that runs the commands has ended")
        code: int | None = json.loads(answer)
        return code

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@dataclass
class _Recorder:
    """Runs steps and keeps what comes of them.

    Attributes:
        checkout: Whose command lines are run.
        root: Where they are run: the same place for every record, since paths are shown.
        out: Where what comes of them is kept.
        service: The models.
        arguments: Words of the command lines that this checkout calls otherwise.
        forks: Runs a command line.
        places: The files that are known, with time and size.
    """

    checkout: Path
    root: Path
    out: Path
    service: Service
    arguments: Mapping[str, str]
    forks: _Forks = field(init=False)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def work(self) -> Path:
        """The folder in which every command runs."""
        return self.root / "work"

    def environment(self) -> dict[str, str]:
        """Return the environment of every command; nothing of the caller's is in it."""
        home = self.root / "home"
        return {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "MPLCONFIGDIR": str(home / "matplotlib"),
            "PYTHONPATH": os.pathsep.join((str(self.checkout / "src"), str(home / "site"))),
            "PYTHONHASHSEED": "0",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "NEWSAPI_API_KEY": "key-0123456789abcdef",
            "GOLDEN_BASE_URL": f"{self.service.url}/v1",
            "GOLDEN_API_KEY": "sk-not-a-real-key-0123456789",
        }

    def step(self, step: Step) -> str:
        """Run a step, keep what came of it, and return that in a few words."""
        folder = self.out / "commands" / step.name
        folder.mkdir(parents=True)
        arguments = [self._argument(word) for word in shlex.split(step.line)]
        told: dict[str, Any] = {"arguments": arguments}
        started = time.monotonic()
        try:
            if step.before is not None:
                step.before(self.work)
        except (OSError, LookupError, ValueError, subprocess.SubprocessError) as error:
            told["skipped"] = f"{type(error).__name__}: {error}"
        else:
            self._changed()
            self.service.taken()
            (folder / "stdin").write_text(step.stdin, "utf-8")
            code = self.forks.run(arguments, folder)
            told["exit"] = code
            wrong = (folder / "stderr").read_text("utf-8", "replace")
            told["missing"] = code == 2 and "No such command" in wrong
            requests = self.service.taken()
            if requests:
                (folder / "requests.jsonl").write_text("\n".join(requests) + "\n", "utf-8")
            told["files"] = self._keep(folder / "files")
        told["seconds"] = round(time.monotonic() - started, 2)
        (folder / "command.json").write_text(json.dumps(told, indent=1, ensure_ascii=False))
        what = "skipped" if "skipped" in told else f"exit {told['exit']}"
        return f"{what}, {told['seconds']:.1f} s, {len(told.get('files', []))} files"

    def _argument(self, word: str) -> str:
        for name, model in MODELS.items():
            word = word.replace(name, model)
        return self.arguments.get(word, word).replace("$URL", self.service.url)

    def _changed(self) -> list[Path]:
        """Return the files that are new or others than before, and remember all as they are."""
        found = {}
        for path in sorted(self.work.rglob("*")):
            if path.is_file():
                facts = path.stat()
                found[str(path.relative_to(self.work))] = (facts.st_mtime_ns, facts.st_size)
        changed = [name for name, facts in found.items() if self.places.get(name) != facts]
        self.places = found
        return [Path(name) for name in changed]

    def _keep(self, folder: Path) -> list[str]:
        kept = []
        for name in self._changed():
            if _is_log(str(name)):
                continue
            kept.append(str(name))
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.work / name, folder / name)
        return kept


def _is_log(name: str) -> bool:
    """Tell files whose contents are Inspect's, or that only lock and remember."""
    parts = Path(name).parts
    return name.endswith((".eval", ".lock")) or bool({"logs", "baseline-logs", "cache"} & {*parts})


def _installed(checkout: Path, folder: Path) -> str:
    """Describe a checkout as if it were installed, and return the entry point of its command.

    Its plugins are then found by its own entry points, whatever the environment has installed.
    """
    project = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"]
    groups = {"console_scripts": project["scripts"], **project.get("entry-points", {})}
    told = folder / f"{project['name']}-{project['version']}.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in places.items())
        for group, places in groups.items()
    ]
    (told / "entry_points.txt").write_text("\n".join(lines))
    return str(project["scripts"]["contrafact"])


def _commands_named(said: str) -> list[str]:
    """Return the subcommands that a page of help lists."""
    names, inside = [], False
    for line in said.splitlines():
        if line.startswith("╭"):
            inside = "Commands" in line
        elif inside and (found := re.match(r"│ ([a-z][\w-]*) ", line)):
            names.append(found[1])
    return names


def record(checkout: Path, out: Path, arguments: Mapping[str, str], only: Sequence[str]) -> int:
    """Run all commands from a checkout, and keep what they write in a new folder."""
    if not (checkout / "src" / "contrafact").is_dir():
        raise SystemExit(f"{checkout}: no src/contrafact in it")
    if out.exists():
        raise SystemExit(f"{out}: is there already; name a new folder, or remove it")
    root = Path(tempfile.gettempdir()) / "golden-record"
    try:
        root.mkdir()
    except FileExistsError:
        mend = "wait for the record that is being made there, or remove it"
        raise SystemExit(f"{root}: is there already; {mend}") from None
    service = Service(PORT)
    recorder = _Recorder(checkout.resolve(), root, out.resolve(), service, arguments)
    try:
        began, started = datetime.now(UTC), time.monotonic()
        done = _record_all(recorder, only)
    finally:
        service.close()
        shutil.rmtree(root)
    seconds = round(time.monotonic() - started)
    facts = {
        "checkout": str(recorder.checkout),
        "root": str(root),
        "python": sys.prefix,
        "service": service.url,
        "days": sorted({began.date().isoformat(), datetime.now(UTC).date().isoformat()}),
        "seconds": seconds,
        "commands": done,
        "only": list(only),
    }
    (out / "record.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(f"{done} commands in {seconds} s: {out}")
    for line in _troubles(out / "commands"):
        print(f"  {line}")
    return 0


def _record_all(recorder: _Recorder, only: Sequence[str]) -> int:
    """Run the pages of help and then the steps; return how many there were."""
    recorder.work.mkdir()
    (recorder.root / "home").mkdir()
    write_inputs(recorder.work / "inputs", recorder.service.url)
    # The list of fonts is made once, before anybody could tell of it.
    subprocess.run(
        [sys.executable, "-c", "import matplotlib.font_manager"],
        env=recorder.environment(),
        stderr=subprocess.DEVNULL,
        check=False,
    )
    entry = _installed(recorder.checkout, recorder.root / "home" / "site")
    recorder.forks = _Forks(entry, recorder.work, recorder.environment())
    started = time.monotonic()
    steps = [step for step in all_steps() if _wanted(step.name, only)]
    pages = [""] if _wanted("help/", only) else []
    seen: set[str] = set()
    done = 0
    try:
        while pages or steps:
            if pages:
                path = pages.pop(0)
                step = Step(f"help/{path.replace(' ', '-') or 'contrafact'}", f"{path} --help")
            else:
                step = steps.pop(0)
            said = recorder.step(step)
            done += 1
            print(f"{time.monotonic() - started:6.1f} s  {step.name}: {said}", flush=True)
            if step.name.startswith("help/"):
                page = recorder.out / "commands" / step.name / "stdout"
                inner = _commands_named(page.read_text("utf-8"))
                pages += [
                    one
                    for name in dict.fromkeys(inner)
                    if (one := f"{path} {name}".strip()) not in seen
                ]
                seen.update(pages)
    finally:
        recorder.forks.close()
    return done


def _troubles(commands: Path) -> Iterator[str]:
    """Yield what a record lacks."""
    for path in sorted(commands.rglob("command.json")):
        told = json.loads(path.read_text("utf-8"))
        asked = path.with_name("requests.jsonl")
        name = path.parent.relative_to(commands)
        lacking = told.get("missing") and name.parts[0] != "wrong"
        if lacking or "skipped" in told or told.get("exit", 0) is None:
            yield f"{name}: {_state(told)}"
        if asked.exists() and "UNKNOWN TO THE SERVICE" in asked.read_text("utf-8"):
            yield f"{name}: asked what the service does not know"


def _wanted(name: str, only: Sequence[str]) -> bool:
    return not only or any(fnmatch.fnmatch(name, pattern) for pattern in only)


# Comparing.

_PICTURES = (".png", ".svg", ".pdf")
_DATABASES = (".db", ".db-wal", ".db-shm")
_UNORDERED = ("*.answers.jsonl", "*.pages.jsonl", "*/usage.csv", "*/requests.jsonl")
"""Files whose rows come in the order in which a service happened to answer, or in no order."""


@dataclass(frozen=True)
class _Rules:
    renames: Sequence[tuple[str, str]]
    columns: Mapping[str, str]
    ignored: Sequence[str]
    keys: Sequence[str]
    lines: int


class _Side:
    """One record, its contents without what may differ; of the old one, with the renames."""

    def __init__(self, folder: Path, rules: _Rules, *, renamed: bool) -> None:
        try:
            self.facts = json.loads((folder / "record.json").read_text("utf-8"))
        except OSError:
            raise SystemExit(f"{folder}: is not a record, or not a whole one") from None
        self.folder = folder / "commands"
        self._renames = rules.renames if renamed else ()
        self._columns = rules.columns if renamed else {}
        self._left_out = rules.keys
        self._fixed = [
            (self.facts["root"], "<ROOT>"),
            (self.facts["checkout"], "<CHECKOUT>"),
            (self.facts["python"], "<PYTHON>"),
            (self.facts["service"], "<SERVICE>"),
            *((identity, "<RUN>") for identity in self._identities()),
        ]
        days = "|".join(re.escape(day) for day in self.facts["days"])
        self._times = [
            (rf"(?:{days})[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?", "<TIME>"),
            (rf"(?:{days})", "<TODAY>"),
            (r"(?<=http://127\.0\.0\.1:8000/)\S+", "<LINK>"),
        ]

    def _identities(self) -> list[str]:
        found = set()
        for path in self.folder.rglob("manifest.json"):
            found.add(str(json.loads(path.read_text("utf-8")).get("identity") or "<none>"))
        return sorted(found)

    def commands(self) -> list[str]:
        """Return the commands' names in the order in which they are kept."""
        paths = self.folder.rglob("command.json")
        return sorted(str(path.parent.relative_to(self.folder)) for path in paths)

    def told(self, command: str) -> dict[str, Any]:
        """Return what is known of a command; an empty object where it was not run."""
        path = self.folder / command / "command.json"
        value: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return value

    def files(self, command: str) -> dict[str, Path]:
        """Return what a command wrote, by names that both sides share."""
        own = self.folder / command
        found = {name: own / name for name in ("stdout", "stderr", "requests.jsonl")}
        found |= {f"files/{name}": own / "files" / name for name in self.told(command)["files"]}
        return {self.text(name): path for name, path in found.items() if path.exists()}

    def text(self, text: str) -> str:
        """Return a text without what may differ."""
        for old, new in self._fixed:
            text = text.replace(old, new)
        for pattern, new in self._times:
            text = re.sub(pattern, new, text)
        for old, new in self._renames:
            text = text.replace(old, new)
        return text

    def value(self, value: Any) -> Any:
        """Return a value of JSON or a cell without what may differ."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {
                self.column(str(name)): self.value(one)
                for name, one in value.items()
                if name not in self._left_out
            }
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        if isinstance(value, float) and value != value:
            return "NaN"
        return value

    def column(self, name: str) -> str:
        """Return the name of a column or key as the other side should have it."""
        return self._columns.get(name) or self.text(name)


def compare(old: Path, new: Path, rules: _Rules) -> int:
    """Print how two records differ; return 1 if they do."""
    sides = _Side(old, rules, renamed=True), _Side(new, rules, renamed=False)
    known = [side.commands() for side in sides]
    count: Counter[str] = Counter()
    for command in sorted({*known[0], *known[1]}):
        wanted = all(_wanted(command, side.facts["only"]) for side in sides)
        if not wanted or _ignored(command, rules):
            continue
        count["commands"] += 1
        found = _compare_command(command, sides, rules, count)
        for title, lines in found:
            count["differences"] += len(lines)
            count["places"] += 1
            print(f"\n{command}: {title} ({len(lines)})")
            for line in lines[: rules.lines]:
                print(f"    {line}")
            if len(lines) > rules.lines:
                print(f"    … and {len(lines) - rules.lines} more lines")
    print(
        f"\n{count['commands']} commands, {count['files']} files: {count['differences']} lines of "
        f"difference in {count['places']} places"
    )
    return 1 if count["places"] else 0


def _ignored(name: str, rules: _Rules) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in rules.ignored)


def _compare_command(
    command: str, sides: tuple[_Side, _Side], rules: _Rules, count: Counter[str]
) -> Iterator[tuple[str, list[str]]]:
    told = [side.told(command) for side in sides]
    states = [_state(one) for one in told]
    if states[0] != states[1]:
        yield "how it ended", [f"{states[0]} → {states[1]}"]
    if not all("files" in one for one in told):
        return
    files = [side.files(command) for side in sides]
    alone = []
    for name in sorted({*files[0], *files[1]}):
        if _ignored(f"{command}/{name}", rules):
            continue
        count["files"] += 1
        if name not in files[0] or name not in files[1]:
            alone.append(f"only in the {'new' if name in files[1] else 'old'} record: {name}")
            continue
        paths = files[0][name], files[1][name]
        lines = _compare_file(name, paths, sides, loose=bool(rules.renames))
        if lines:
            yield name, lines
    if alone:
        yield "what it wrote", alone


def _state(told: Mapping[str, Any]) -> str:
    if not told:
        return "not run"
    if "skipped" in told:
        return f"skipped ({told['skipped']})"
    if told["missing"]:
        return "no such command"
    return "too slow" if told["exit"] is None else f"exit {told['exit']}"


def _compare_file(
    name: str, paths: tuple[Path, Path], sides: tuple[_Side, _Side], *, loose: bool
) -> list[str]:
    suffix = Path(name).suffix
    if suffix in (*_PICTURES, *_DATABASES):
        return []
    if suffix in (".json", ".done", ".jsonl", ".csv", ".parquet"):
        try:
            read = [_rows(path, side) for path, side in zip(paths, sides, strict=True)]
        except (ValueError, csv.Error):
            pass
        else:
            if any(fnmatch.fnmatch(f"/{name}", pattern) for pattern in _UNORDERED):
                read = [sorted(rows, key=_canonical) for rows in read]
            return list(_value_lines("", *read))
    contents = [path.read_bytes() for path in paths]
    if any(b"\0" in content for content in contents):
        same = contents[0] == contents[1]
        return [] if same else [f"other bytes ({len(contents[0])} → {len(contents[1])})"]
    texts = []
    for content, side in zip(contents, sides, strict=True):
        text = content.decode("utf-8", "replace")
        if suffix == ".html":
            text = re.sub(r"<svg\b.*?</svg>", "<svg/>", text, flags=re.DOTALL)
            text = re.sub(r"base64,[\w+/=]+", "base64", text).replace("><", ">\n<")
            text = re.sub(r"\n\s*\n", "\n", text)
        text = side.text(text)
        texts.append(re.sub(r"(?<=\S) +| +$|(?<=[─━-])[─━-]+", " ", text) if loose else text)
    old, new = (text.splitlines() for text in texts)
    diff = difflib.unified_diff(old, new, lineterm="", n=0)
    return [line[:400] for line in diff if not line.startswith(("---", "+++"))]


def _rows(path: Path, side: _Side) -> Any:
    """Return a file's contents as values, tables as lists of rows."""
    if path.suffix in (".json", ".done"):
        return side.value(json.loads(path.read_text("utf-8")))
    if path.suffix == ".jsonl":
        lines = path.read_text("utf-8").split("\n")
        return [side.value(json.loads(line)) for line in lines if line]
    if path.suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
        types = {field.name: str(field.type) for field in table.schema}
        return [side.value({"(types)": types}), *map(side.value, table.to_pylist())]
    with path.open(newline="", encoding="utf-8-sig") as stream:
        head, *rows = list(csv.reader(stream)) or [[]]
    made = [side.value({"(columns)": dict.fromkeys(head, "")})]
    made[0]["(columns)"] = ", ".join(made[0]["(columns)"])
    for row in rows:
        cells = dict(zip(head, row, strict=False)) | {"(cells)": len(row)}
        made.append(side.value(cells))
    return made


def _value_lines(place: str, old: Any, new: Any) -> Iterator[str]:
    """Yield a line for each difference between two values, with its path."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            inner = f"{place}.{name}" if place else str(name)
            if name not in new:
                yield f"{inner}: only in the old record: {_shown(old[name])}"
            elif name not in old:
                yield f"{inner}: only in the new record: {_shown(new[name])}"
            else:
                yield from _value_lines(inner, old[name], new[name])
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_lines(place, old, new)
    elif old != new or type(old) is not type(new):
        if isinstance(old, str) and isinstance(new, str):
            same = (one == other for one, other in zip(old, new, strict=False))
            start = len(list(itertools.takewhile(bool, same))) - 40
            if start > 0 and max(len(old), len(new)) > 160:
                old, new = f"…{old[start:]}", f"…{new[start:]}"
        yield f"{place}: {_shown(old)} → {_shown(new)}"


def _list_lines(place: str, old: list[Any], new: list[Any]) -> Iterator[str]:
    if len(old) == len(new):
        if old != new and Counter(map(_canonical, old)) == Counter(map(_canonical, new)):
            yield f"{place}[]: the same {len(old)} elements in another order"
            return
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _value_lines(f"{place}[{number}]", one, other)
        return
    yield f"{place}[]: {len(old)} elements → {len(new)}"
    counts = [Counter(map(_canonical, values)) for values in (old, new)]
    for sign, more in (("-", counts[0] - counts[1]), ("+", counts[1] - counts[0])):
        for text in more.elements():
            yield f"  {sign} {text[:400]}"


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else _canonical(value)
    text = "'" + text.replace("\n", "\\n") + "'" if isinstance(value, str) else text
    return text if len(text) <= 160 else f"{text[:157]}…"


# The command line.


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not old:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form OLD=NEW")
    return old, new


def _declared(path: Path) -> list[tuple[str, str]]:
    pairs = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        old, tab, new = line.partition("\t")
        if line.strip() and not line.startswith("#"):
            if not tab or not old:
                raise SystemExit(f"{path}:{number}: no tab between old and new")
            pairs.append((old, new))
    return pairs


def main() -> int:
    """Record a checkout, or compare two records."""
    if sys.argv[1:2] == ["forks"]:
        _serve_forks(*sys.argv[2:4])
        return 0
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record", help="run a checkout's commands and keep what they write")
    one.add_argument("checkout", type=Path, metavar="CHECKOUT", help="a folder with src/contrafact")
    one.add_argument("out", type=Path, metavar="OUT", help="a new folder")
    one.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only steps of that name, as in 'rfc/*'; what they need is not added",
    )
    one.add_argument(
        "--argument",
        action="append",
        default=[],
        type=_pair,
        metavar="OLD=NEW",
        help="a word of the command lines that this checkout calls otherwise",
    )
    two = commands.add_parser("compare", help="print how two records differ")
    two.add_argument("old", type=Path, metavar="OLD")
    two.add_argument("new", type=Path, metavar="NEW")
    two.add_argument("--rename", action="append", default=[], type=_pair, metavar="OLD=NEW")
    two.add_argument("--rename-column", action="append", default=[], type=_pair, metavar="OLD=NEW")
    two.add_argument("--renames", action="append", default=[], type=Path, metavar="FILE")
    two.add_argument("--ignore", action="append", default=[], metavar="PATTERN")
    two.add_argument("--ignore-key", action="append", default=[], metavar="NAME")
    two.add_argument("--lines", type=int, default=20, help="shown of each file at most [20]")
    given = parser.parse_args()
    if given.command == "record":
        return record(given.checkout, given.out, dict(given.argument), given.only)
    renames = [*given.rename, *(pair for path in given.renames for pair in _declared(path))]
    rules = _Rules(renames, dict(given.rename_column), given.ignore, given.ignore_key, given.lines)
    return compare(given.old, given.new, rules)


if __name__ == "__main__":
    sys.exit(main())
