"""Make the reports of the gallery from real runs, and pictures of them.

    python tools/gallery.py build/gallery
    python tools/gallery.py build/gallery --limit 4 --model openai-api/NAME/MODEL

Runs are on the bundled samples, with the embedded model unless another is named. Each command is
the one that the gallery shows. Killed and started again, it goes on. Pictures need Chromium and
playwright, and are left out, and said, without them.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["REPORTS", "Report", "commands_of", "main", "pictures", "run"]

EMBEDDED = "embedded/smollm2-135m"


@dataclass(frozen=True)
class Report:
    """A report of the gallery.

    Attributes:
        name: The name of its page.
        title: Its heading.
        text: What it shows, for the reader of the gallery.
        commands: The commands that make it, after ``contrafact``; ``{model}`` is the model.
        made: Where the last of them leaves the page.
    """

    name: str
    title: str
    text: str
    commands: tuple[str, ...]
    made: str


REPORTS = (
    Report(
        "detect",
        "Was this paragraph tampered with?",
        "The 24 bundled pairs, each paragraph alone. A model next to two "
        "baselines that ask none: what looks like skill has to beat them.",
        (
            "run rfc-detect --model {model} --method plain --method majority "
            "--method surface --temperature 0 --out runs/detect",
        ),
        "runs/detect/report.html",
    ),
    Report(
        "diagnose",
        "Which manipulation was it?",
        "The same pairs, original and rewrite side by side, with the confusion of the four kinds.",
        (
            "run rfc-diagnose --model {model} --method plain --method majority --method surface "
            "--temperature 0 --out runs/diagnose",
        ),
        "runs/diagnose/report.html",
    ),
    Report(
        "scenarios",
        "Risk and opportunity of a headline",
        "Two prompts on the same headlines, judged by the model itself: the report warns of that, "
        "counts what is no counterfactual, and compares the two by a paired test.",
        (
            "run finforce --model {model} --judge {model} --method zero-shot --method guided "
            "--limit 8 --temperature 0 --max-tokens 200 --fluency-model none --out runs/scenarios",
        ),
        "runs/scenarios/report.html",
    ),
    Report(
        "corrected",
        "Edited stories, corrected for the judge",
        "Stories with proven answers, edited, and judged by a verifier, which proves what it says. "
        "Like any judge it sat an exam on other stories, and the rates are corrected for it.",
        (
            "cobe synth --n 12 --seed 7 --out stories.jsonl",
            "run cobe --model {model} --judge verifier/proof --data stories.jsonl "
            "--temperature 0 --max-tokens 120 --out runs/stories",
            "exam --judge verifier/proof --family cobe --n 60 --no-order --out exam.json",
            "report runs/stories --exam exam.json --out corrected",
        ),
        "corrected/report.html",
    ),
    Report(
        "comparison",
        "What changed between two runs",
        "Two prompts, the same paragraphs: what flipped, and the paired difference. The same "
        "command fails a build on a regression.",
        (
            "run rfc-detect --model {model} --method plain --temperature 0 --limit 12 "
            "--out runs/before",
            "run rfc-detect --model {model} --method stepwise --temperature 0 --max-tokens 100 "
            "--limit 12 --out runs/after",
            "diff runs/before runs/after --html comparison.html",
        ),
        "comparison.html",
    ),
)


def commands_of(report: Report, model: str, limit: int | None) -> list[str]:
    """Return a report's commands with the model filled in, and runs cut to so many items.

    An exam is cut to ten times as many.
    """
    made = []
    for command in report.commands:
        words = command.format(model=model).split()
        if limit is not None and words[0] == "run":
            if "--limit" not in words:
                words += ["--limit", str(limit)]
            words[words.index("--limit") + 1] = str(limit)
        elif limit is not None and words[0] == "exam":
            words[words.index("--n") + 1] = str(10 * limit)
        made.append(" ".join(words))
    return made


def run(command: str, folder: Path) -> None:
    """Run a command of the program in a folder; a failure ends everything."""
    print(f"$ contrafact {command}", flush=True)
    words = [sys.executable, "-m", "contrafact.cli.main", *shlex.split(command)]
    done = subprocess.run(words, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"it ended with {done.returncode}")


def pictures(pages: list[Path], *, width: int = 1100, height: int = 720) -> list[str]:
    """Take a picture of the first screen of each page; none where there is no Chromium."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("no pictures: Chromium or playwright is not installed", file=sys.stderr)
        return []
    taken = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": height})
        for page in pages:
            tab.goto(page.resolve().as_uri())
            tab.screenshot(path=page.with_suffix(".png"))
            taken.append(page.with_suffix(".png").name)
        browser.close()
    return taken


def main() -> None:
    """Make the reports, their pictures and the list that the site shows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default=EMBEDDED)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--only", action="append", default=[], help="a report's name")
    options = parser.parse_args()
    folder: Path = options.folder
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    listed = []
    for report in REPORTS:
        if options.only and report.name not in options.only:
            continue
        commands = commands_of(report, options.model, options.limit)
        for command in commands:
            run(command, work)
        shutil.copyfile(work / report.made, folder / f"{report.name}.html")
        shown = "\n".join(f"$ contrafact {command}" for command in commands)
        listed.append(
            {
                "title": report.title,
                "text": report.text,
                "commands": shown,
                "page": f"gallery/{report.name}.html",
            }
        )
    taken = pictures([folder / Path(one["page"]).name for one in listed])
    for one in listed:
        picture = Path(one["page"]).with_suffix(".png").name
        if picture in taken:
            one["picture"] = f"gallery/{picture}"
    (folder / "gallery.json").write_text(json.dumps(listed, indent=1), "utf-8")


if __name__ == "__main__":
    main()
