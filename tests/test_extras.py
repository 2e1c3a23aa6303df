"""What extras bring: each is enough for what its page shows, and the base says what it misses.

`make release-check` installs each alone, from the index that pip is set to; PyTorch only from
a wheel on this machine, since an index may have it for GPUs, of gigabytes.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from tests.support.hidden import EXTRAS, hide
from tests.support.hub_server import HubServer

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRA_LISTS = PROJECT["optional-dependencies"]


def test_a_pin_serves_the_first_python_that_is_promised():
    """Where a pinned version needs a later one, another is pinned beside it."""
    first = PROJECT["requires-python"].removeprefix(">=") + ".0"
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    served = {
        pin.name for pin in pins
        if pin.marker is None or pin.marker.evaluate({"python_full_version": first})
    }  # fmt: skip
    assert served == {pin.name for pin in pins}
    late = {
        part.name for part in distributions()
        if not SpecifierSet(part.metadata["Requires-Python"] or "").contains(first)
    }  # fmt: skip
    assert late <= {pin.name for pin in pins if pin.marker is not None}


@pytest.fixture
def base(contrafact, tmp_path, service):
    """Run a command where no extra is installed."""

    def run(*words):
        paths = os.pathsep.join((hide(tmp_path / "hidden", *EXTRAS), str(ROOT / "src")))
        environment = {**os.environ, **service.environment, "PYTHONPATH": paths}
        return contrafact(*words, env=environment)

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("tokens", "rfc rewrite labelled.jsonl --model M --out pairs.out.jsonl"),
        ("nlp", "generate news.csv --method counterfactual-distil --model M --out out.csv"),
        ("nlp", "run finforce --method counterfactual-distil --model M --limit 1"),
        ("whitebox", "run finforce --method lm-counterfactuals --model whitebox/smollm2-135m"),
        ("train", "train srlm tiny --data news.csv"),
        ("embedded", "generate news.csv --model embedded/smollm2-135m --out out.csv"),
        ("baselines", "run rfc-detect --method surface --limit 8"),
        ("corpus", "news dedupe news.csv --out once.jsonl"),
        ("corpus", "news fetch rss http://127.0.0.1:9/feed --out news.jsonl"),
        ("corpus", "finforce screen labelled.jsonl --out screened.jsonl"),
        ("hub", "data check hf://nobody/nothing"),
        ("review", "review serve --db sqlite:///review.db"),
    ],
)
def test_what_needs_an_extra_says_so_before_any_call(base, service, tmp_path, extra, words):
    (tmp_path / "news.csv").write_text(
        "headline\n" + "".join(f"Tern rose {n}%\n" for n in range(3))
    )
    (tmp_path / "labelled.jsonl").write_text(
        '{"title": "Tern rises", "summary": "Tern rose 5%.", "manipulation": "flipping"}\n'
    )
    if "stories.json" in words:
        base("cobe", "synth", "--n", "1", "--seed", "7", "--out", "stories.json")
    done = base(*(service.model if word == "M" else word for word in words.split()))
    assert done.returncode == 2, done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert f"contrafact[{extra}]" in lines[-1] and "Traceback" not in done.stderr
    assert not service.stats().get("answered")


@pytest.mark.parametrize("named", ["gpt2", "smollm2-135m", "", "none"])
def test_a_fluency_model_that_is_named_and_cannot_be_had_is_refused(base, tmp_path, named):
    outputs = '{"headline": "Tern rises", "risk": "Tern falls", "opportunity": "Tern doubles"}'
    (tmp_path / "made.jsonl").write_text(outputs + "\n")
    asked = ("--fluency-model", named) if named else ()
    done = base("score", "finforce", "made.jsonl", *asked)
    refused = named not in ("", "none")
    assert done.returncode == (2 if refused else 0), done.stderr
    assert ("contrafact[whitebox]" in done.stderr) == (named != "none")
    assert (tmp_path / "runs").exists() != refused


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "--engine ray",
            "--engine ray needs contrafact-ray, which is not installed; "
            "run: pip install contrafact-ray",
        ),
        ("--engine spark", "there is no engine 'spark'; use --engine ray"),
        ("--address auto", "--address has no effect without --engine ray; leave it out"),
    ],
)
def test_an_engine_that_is_not_installed_is_refused_in_one_line(base, tmp_path, words, said):
    (tmp_path / "labelled.jsonl").write_text('{"title": "Tern rises", "summary": "Tern rose 5%."}')
    done = base("rfc", "bucket", "labelled.jsonl", *words.split(), "--out", "folder")
    assert (done.returncode, done.stderr) == (2, f"contrafact: {said}\n")
    assert not (tmp_path / "folder").exists()


ALONE = os.environ.get("CONTRAFACT_EXTRAS", "")
"""A wheel to install with each extra: `make release-check` names the one that it has built."""

RAY = os.environ.get("CONTRAFACT_RAY", "")
"""The wheel of contrafact-ray, likewise."""

SHOWN = {
    "": "contrafact cobe synth --n 1 --seed 7 --out own.json; test -s own.json;"
    "contrafact run rfc-detect --method majority --limit 8 --out run; test -s run/report.html",
    "tokens": "contrafact rfc rewrite labelled.jsonl --out pairs.jsonl; test -s pairs.jsonl",
    "figures": "contrafact run rfc-detect --method majority --limit 8 --out run;"
    "ls run/figures/*.png",
    "nlp": "contrafact generate news.csv --method counterfactual-distil --model M --out o.csv;"
    "contrafact rfc check rewritten.jsonl --out checked.jsonl || test $? = 1;"
    "test -s checked.jsonl",
    "baselines": "contrafact run rfc-detect --method surface --limit 8 --out run;"
    "contrafact cobe synth --n 100 --seed 7 --out own.json; contrafact cobe leak own.json",
    "corpus": "contrafact news dedupe news.csv --out once.jsonl; test -s once.jsonl",
    "embedded": "contrafact models fetch smollm2-135m;"
    "contrafact generate one.csv --model embedded/smollm2-135m --max-tokens 8 --out o.csv",
    "demo": "contrafact models fetch smollm2-135m;"
    "contrafact demo --out demo; ls demo/report.html demo/*/figures/*.png",
    "hub": "contrafact data check hf://harbour/news:test",
    "ray": "contrafact generate news.jsonl --model M --engine ray --out folder; ls folder",
    "whitebox": "contrafact models fetch smollm2-135m;"
    "contrafact run finforce --method lm-counterfactuals --model whitebox/smollm2-135m --limit 1"
    " --max-tokens 8 --fluency-model smollm2-135m --out run; test -s run/report.html",
    "train": "contrafact models fetch smollm2-135m;"
    "contrafact train srlm small.yaml --out trained;"
    "test -d trained/warm-up/model; ls trained/metrics.csv",
    "review": "contrafact review import news.csv --project headline-screening --review own"
    " --person Ada=annotator --db own.db; python served.py",
    "notebook": "python -c 'import ipywidgets'",
    "docs": "site=$PWD/site; cd $ROOT; export NO_MKDOCS_2_WARNING=1;"
    "python -m mkdocs build --quiet --strict --site-dir $site; test -s $site/index.html",
}
"""What the pages of the extras show, as a shell runs it; M is a model server on loopback."""

SERVED = """\
import re, subprocess, sys, urllib.request
command = ["contrafact", "review", "serve", "--db", "own.db", "--port", "0"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as studio:
    for line in studio.stdout:
        if address := re.search(r"http://127[^/ ]+", line):
            break
    try:
        page = urllib.request.urlopen(address[0], timeout=30)
    finally:
        studio.terminate()
assert page.status == 200
"""
SMALL = """\
model: smollm2-135m
iterations: 1
held_out: 5
warm_up: {examples: 12, batch: 2, effective_batch: 2}
headlines: {count: 6, seed_examples: 2, own_examples: 1, max_tokens: 24}
candidates: {per_headline: 3, max_tokens: 80}
judge: {by: checks}
preferences: {min_pairs: 2}
fluency_model: null
lora: {targets: [q_proj, v_proj]}
"""


def local_torch():
    """Return the wheel of PyTorch among those that pip is told to look for on this machine."""
    asked = [sys.executable, "-m", "pip", "config", "get", "global.find-links"]
    kept = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    places = f"{os.environ.get('PIP_FIND_LINKS', '')} {kept}".split()
    return next((one for place in places for one in Path(place).glob("torch-*.whl")), None)


def installed_alone(folder, extra, lowest):
    """Make an environment of the wheel with one extra, of the lowest direct versions if asked."""
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    wheel, needs, more = Path(ALONE).resolve().as_uri(), ROOT / "pyproject.toml", []
    named, extras = f"contrafact[{extra}] @ {wheel}", ["--extra", extra] if extra else []
    if extra == "ray":  # a package of its own
        named, extras = f"contrafact-ray @ {Path(RAY).resolve().as_uri()}", []
        needs, more = ROOT / "packages" / "ray" / "pyproject.toml", [f"contrafact @ {wheel}"]
    if "whitebox" in (extra, *re.findall(r"\w+", " ".join(EXTRA_LISTS.get(extra, ())))):
        if (torch := local_torch()) is None:
            pytest.skip("no wheel of PyTorch lies where pip looks on this machine")
        more.append(f"torch @ {torch.as_uri()}")
    if uv is None and lowest:
        pytest.skip("the lowest versions are chosen by uv, which is not here")
    if lowest:
        asked = ["--resolution", "lowest-direct", *extras]
        (folder / "wheels.txt").write_text("\n".join(more))
        asked += ["--override", folder / "wheels.txt", "-o", folder / "lowest.txt"]
        run([uv, "pip", "compile", "--quiet", needs, *asked], folder)
        more += ["-c", folder / "lowest.txt"]
    python = folder / "alone" / "bin" / "python"
    if uv is None:
        run([sys.executable, "-m", "venv", folder / "alone"], folder)
        run([python, "-m", "pip", "install", "--quiet", named, *more], folder)
    else:
        run([uv, "venv", "--quiet", "--python", sys.executable, folder / "alone"], folder)
        run([uv, "pip", "install", "--quiet", "--python", python, named, *more], folder)
    return python.parent


def run(command, folder, **environment):
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def write_inputs(folder):
    """Write what the commands on pages read."""
    news = [f"Tern & Vale rose {n}% after its {n} plants reopened in May" for n in range(2, 5)]
    (folder / "news.csv").write_text("headline\n" + "".join(f"{one}\n" for one in news))
    (folder / "news.jsonl").write_text(
        "".join(json.dumps({"headline": one}) + "\n" for one in news)
    )
    (folder / "one.csv").write_text(f"headline\n{news[0]}\n")
    pair = {"title": "Tern & Vale rises", "summary": "Tern & Vale rose 5% to $20.", "url": "u"}
    pair |= {"manipulation": "numerical"}
    (folder / "labelled.jsonl").write_text(json.dumps(pair) + "\n")
    made = {
        "id": "1",
        "article_id": "a",
        "original": "Tern & Vale rose 5% to $20 on Monday.",
        "manipulation": "numerical",
    }
    made |= {"rewritten": "Tern & Vale rose 9% to $30 on Monday."}
    (folder / "rewritten.jsonl").write_text(json.dumps(made) + "\n")
    (folder / "served.py").write_text(SERVED)
    (folder / "small.yaml").write_text(SMALL)


@pytest.fixture
def hub():
    server = HubServer()
    yield server
    server.close()


if ALONE:  # for minutes it installs the base and each extra, in an empty environment each

    @pytest.mark.slow
    @pytest.mark.parametrize("lowest", [False, True], ids=["newest", "lowest"])
    @pytest.mark.parametrize("extra", SHOWN)
    def test_an_extra_alone_runs_what_its_page_shows(extra, lowest, service, hub, tmp_path):
        programs = installed_alone(tmp_path, extra, lowest)
        write_inputs(tmp_path)
        hub.commit("harbour/news", {"test.jsonl": '{"headline": "Tern rose 5%"}\n'})
        said = run(
            ["bash", "-ec", SHOWN[extra].replace("--model M", f"--model {service.model}")],
            tmp_path,
            **{name: value for name, value in service.environment.items() if "FAKE" in name},
            PATH=f"{programs}{os.pathsep}{os.environ['PATH']}",
            PYTHONPATH="",
            ROOT=str(ROOT),
            CONTRAFACT_CACHE=str(tmp_path.parent / "cache"),
            HF_ENDPOINT=hub.url,
            HF_HUB_OFFLINE="0",
            HF_HOME=str(tmp_path / "home"),
        )
        assert "Traceback" not in said
        assert not re.search(rf"contrafact\[{extra or '-'}\]", said)


def floors():
    """Return the lowest version that is allowed of each package of the base, by its name."""
    found = {}
    for one in PROJECT["dependencies"]:
        named = re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", one)
        if named:
            found.setdefault(named[1].lower(), named[2])
    return found


def test_contrafact_ray_belongs_to_this_version():
    text = (ROOT / "packages" / "ray" / "pyproject.toml").read_text(encoding="utf-8")
    ray = tomllib.loads(text)["project"]
    assert ray["version"] == PROJECT["version"]
    assert f"contrafact=={PROJECT['version']}" in ray["dependencies"]


def test_the_floor_of_openai_is_what_inspect_asks_for():
    providers = distribution("inspect_ai").locate_file("inspect_ai/model/_providers/providers.py")
    text = Path(str(providers)).read_text(encoding="utf-8").partition("def validate_openai_client")
    asked = re.search(r'MIN_VERSION = "(\d+\.\d+)', text[2])
    assert asked and floors()["openai"] == asked[1]


def test_training_has_all_that_it_checks_for():
    extras = PROJECT["optional-dependencies"]
    assert "[whitebox,nlp]" in extras["train"][0]
    brought = (extras[one] for one in ("train", "whitebox", "nlp", "figures"))
    named = " ".join(package for one in brought for package in one)
    checked = ("torch", "transformers", "peft", "matplotlib")
    for package in (*checked, "datasketch", "spacy"):
        assert re.search(rf"\b{package}\b", named), package


_WITHOUT = """\
import os, pkgutil, sys, importlib
for name in ("fcntl", "pwd", "grp", "termios", "pty", "tty"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "getpgid", "setsid", "killpg", "mkfifo"):
    delattr(os, name)
import contrafact
APART = ("review", "training", "models.whitebox", "__main__")  # servers, PyTorch's
for module in pkgutil.walk_packages(contrafact.__path__, "contrafact.", lambda name: None):
    if not module.name.removeprefix("contrafact.").startswith(APART):
        importlib.import_module(module.name)
from contrafact.files.tables import write_frame
write_frame(contrafact.synth(1, seed=7).items[["Variation text"]], "stories.xlsx")
rows = [{"title": "Tern rose 5%", "manipulation": "numerical"}]
print(*contrafact.rewrite(rows, seed=7).items["rewritten"])
"""


@pytest.mark.slow
def test_all_but_the_studio_runs_without_what_unix_alone_has(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _WITHOUT],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.fullmatch(r"Tern rose \d+%\n", done.stdout)
    assert (tmp_path / "stories.xlsx").stat().st_size
