"""What extras bring: each is enough for what its page shows, and the base says what it misses.

Small extras are installed alone, from the index that pip is set to, where that is asked for. Those
with PyTorch, Ray or a database are not: they are too large to install for a test.
"""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from tests.support.hidden import EXTRAS, hide

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


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
        ("corpus", "cobe augment stories.json --model M --out more.json"),
        ("whitebox", "run finforce --method lm-counterfactuals --model whitebox/smollm2-135m"),
        ("train", "train srlm tiny --data news.csv"),
        ("embedded", "generate news.csv --model embedded/smollm2-135m --out out.csv"),
        ("baselines", "run rfc-detect --method surface --limit 8"),
        ("corpus", "news dedupe news.csv --out once.csv"),
        ("hub", "data check hf://nobody/nothing"),
        ("bulk", "generate labelled.jsonl --model M --engine ray --out folder"),
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


def installed_alone(folder, requirements):
    """Install requirements into an empty environment, and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return python


USES = {
    "tokens": "from contrafact.text.diff import token_count; assert token_count('one two') == 2",
    "figures": "import matplotlib.figure",
    "baselines": "import sklearn.linear_model",
    "corpus": "import datasketch, feedparser",
    "hub": "import huggingface_hub",
    "notebook": "import ipywidgets",
}
"""What is done with an extra that is small; the rest have tests of their own rooms."""


if os.environ.get("CONTRAFACT_EXTRAS"):  # for minutes it installs the base and each extra

    @pytest.mark.slow
    def test_small_extras_install_alone_and_do_what_they_are_for(tmp_path):
        python = installed_alone(tmp_path / "base", [str(ROOT)])
        for extra, code in USES.items():
            pip = [python, "-m", "pip", "install", "--quiet", f"{ROOT}[{extra}]"]
            subprocess.run(pip, check=True, capture_output=True)
            subprocess.run([python, "-c", code], check=True, cwd=tmp_path)


def floors():
    """Return the lowest version that is allowed of each package of the base, by its name."""
    found = {}
    for one in PROJECT["dependencies"]:
        named = re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", one)
        if named:
            found.setdefault(named[1].lower(), named[2])
    return found


def test_the_floor_of_openai_is_what_inspect_asks_for():
    providers = distribution("inspect_ai").locate_file("inspect_ai/model/_providers/providers.py")
    text = Path(str(providers)).read_text(encoding="utf-8").partition("def validate_openai_client")
    asked = re.search(r'MIN_VERSION = "(\d+\.\d+)', text[2])
    assert asked and floors()["openai"] == asked[1]


def test_training_has_all_that_it_checks_for():
    extras = PROJECT["optional-dependencies"]
    named = " ".join((*extras["train"], *extras["whitebox"], *extras["nlp"]))
    for package in ("torch", "transformers", "trl", "peft", "datasets", "datasketch", "spacy"):
        assert re.search(rf"\b{package}\b", named), package


_WITHOUT = """\
import os, pkgutil, sys, importlib
for name in ("fcntl", "pwd", "grp", "termios", "pty", "tty"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "getpgid", "setsid", "killpg", "mkfifo"):
    delattr(os, name)
import contrafact
APART = ("review", "bulk", "training", "models.whitebox", "__main__")  # Ray's, PyTorch's, servers
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
