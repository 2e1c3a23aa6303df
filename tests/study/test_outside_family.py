"""A family outside the package gets an exam and a study from two small specs.

Its task makes statements questions. It is written into a folder and found by an entry point.
"""

import json
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pandas as pd
import pytest
from tests.support.replies import says
from tests.support.sheets import fill
from typer.testing import CliRunner

from contrafact import family as finding
from contrafact import plugins
from contrafact.cli import main
from contrafact.cli.main import app
from contrafact.errors import InputError
from contrafact.family import family_named
from contrafact.family.exam_file import read_exam
from contrafact.report.frames import read_labels

FAMILY = '''
"""Statements made questions."""

from pathlib import Path

from contrafact.family import Family, Lazy, Task
from contrafact.family.exam import Examiner, ExamItem, ExamSpec, draw_items
from contrafact.family.report import JudgedColumn, ReportSpec
from contrafact.family.settings import TaskOptions
from contrafact.family.study import Question, StudySpec
from contrafact.judges.rubric import letter
from contrafact.text.delimit import delimit

HERE = Path(__file__).parent


class Run:
    version = "3-B"


RUN = Run()


class Options(TaskOptions):
    loud: bool = False


def items():
    for number in range(30):
        stated = f"The kettle number {number} boils."
        for text, right in ((f"Does the kettle number {number} boil?", True), (stated, False)):
            yield ExamItem(
                id=f"t{number}{right}", cluster=f"t{number}", kind="asked" if right else "stated",
                about=stated, text=text, known={"asks": right}, reference="Does it boil?",
                facts={"number": str(number)},
            )


def examiner(pack, options):
    template = pack.template("tone/judge", required={"text"})

    def prompts(item):
        return {"asks": template.render(text=delimit(item.text))}

    return Examiner(prompts, lambda item: [delimit(item.text)], letter(logprobs=False))


EXAM = ExamSpec(
    task="tone",
    criteria={"asks": "asks"},
    items=lambda options, n, seed: draw_items(list(items()), n, seed),
    examiner=examiner,
    options=Options,
)
STUDY = StudySpec(
    summary="whether it asks",
    noun="questions",
    task="tone",
    shown={"statement": "stated", "question": "text"},
    questions=(
        Question("asks", verdict="judge_asks", criterion="asks"),
        Question("tone", ("friendly", "neutral", "rude"), {"nice": "friendly"}, passes=False),
    ),
    guidelines=HERE / "guidelines.txt",
    key=("item", "system", "judge", "draw", "sample_id", "judge_asks", "probability", "check"),
    labels=("judge", "system", "draw", "sample_id"),
)
REPORT = ReportSpec(
    title="Tone", unit=("statement", "statements"),
    output=("question", "questions"), measures=(),
    criteria=(JudgedColumn("asks", "Asks"),),
)
FAMILY = Family(
    name="tone",
    title="Tone",
    question="Does it ask?",
    tasks=(
        Task("tone", "made questions", Lazy(f"{__name__}:RUN"), Lazy(f"{__name__}:REPORT")),
    ),
    study={"": Lazy(f"{__name__}:STUDY")},
    exam=Lazy(f"{__name__}:EXAM"),
)
'''


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """The family, as if it were installed."""
    package = tmp_path / "site" / "tone_family"
    (package / "prompts").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "family.py").write_text(FAMILY)
    (package / "guidelines.txt").write_text("TRUE if it asks.\n")
    (package / "prompts" / "judge.jinja").write_text(
        "Does it ask? T or F.\n\n<text>{{ text }}</text>"
    )
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    entry = EntryPoint("tone", "tone_family.family:FAMILY", plugins.FAMILY_GROUP)
    known = [one for one in plugins.family_entries() if one.value.startswith("contrafact.")]
    for module in (finding, plugins):
        monkeypatch.setattr(module, "family_entries", lambda: (*known, entry))
    caches = (finding.families, plugins.family_folders, main._commands, main._loaded)

    def forget():
        for cache in caches:
            cache.cache_clear()
        # It offers the families that there were when it was imported.
        sys.modules.pop("contrafact.cli.exam", None)

    forget()
    yield package
    monkeypatch.undo()
    forget()
    for name in [name for name in sys.modules if name.split(".")[0] == "tone_family"]:
        del sys.modules[name]


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def run_folder(folder, name, systems=("s", "t")):
    """A finished run of the family, by hand."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "system": system, "judge": "j/x", "draw": 1, "sample_id": f"t{n}",
            "stated": f"The kettle number {n} boils.", "text": f"=Does {n} boil, {system}?",
            "asks": [1.0, 0.0, float("nan")][int(rng.integers(3))] if n % 4 else 1.0,
        }
        for system in systems for n in range(20)
    ]  # fmt: skip
    rows += [{**rows[0], "text": None}, {**rows[1], "judge": None, "asks": float("nan")}]
    made = folder / name
    made.mkdir(parents=True)
    pd.DataFrame(rows).to_parquet(made / "items.parquet")
    record = {"name": "x", "sha256": "0", "items": 20}
    manifest = {
        "identity": "0", "status": "finished", "started": "2026", "contrafact": "0",
        "inspect_ai": "0", "task": "tone", "task_version": "3-B", "data": record,
        "pack": {"name": "default", "hash": "0"}, "settings": {},
    }  # fmt: skip
    (made / "manifest.json").write_text(json.dumps(manifest))
    return made


def test_a_study_of_two_questions_from_a_sheet_to_tables(outside, tmp_path):
    one, two = run_folder(tmp_path, "one"), run_folder(tmp_path, "two", ("s",))
    printed = run("tone", "study", "sample", one, two, "--n", 30, "--out", "sheet.csv")
    assert "sheet.csv: 30 questions of 3 systems" in printed
    sheet = tmp_path / "sheet.csv"
    shown = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    assert list(shown) == ["item", "statement", "question", "asks", "tone", "comment"]
    assert shown["question"].str.startswith("'=").all()
    key = pd.read_csv(tmp_path / "sheet.key.csv", dtype=str, keep_default_na=False)
    assert set(key["system"]) == {"s", "t", "s [two]"}
    assert set(key["judge_asks"]) <= {"true", "false", ""}
    assert key.groupby("system").size().tolist() == [10, 10, 10]
    again = sheet.read_bytes()
    run("tone", "study", "sample", one, two, "--n", 30, "--out", "sheet.csv")
    assert sheet.read_bytes() == again
    assert (tmp_path / "sheet.guidelines.txt").read_text() == "TRUE if it asks.\n"
    judged = dict(zip(key["item"], key["judge_asks"], strict=True))
    fill(sheet, tmp_path / "ann.csv", lambda row: {
        "asks": judged[row["item"]] or "yes", "tone": "Nice.",
    })  # fmt: skip
    fill(sheet, tmp_path / "ben.csv", lambda _: {"asks": "TRUE", "tone": "rude"})
    printed = run("tone", "study", "score", "ann.csv", "ben.csv", "--out", "out")
    assert "Judge against the raters' strict majority" in printed
    tables = {path.stem: pd.read_csv(path) for path in (tmp_path / "out").iterdir()}
    assert set(tables) == {
        *("raters", "judge", "pairs", "confusion", "ratings_asks", "ratings_tone", "labels")
    }
    judge = tables["judge"].iloc[0]
    assert (judge["question"], judge["judge"]) == ("asks", "j/x")
    assert judge["n"] == judge["tp"], "where two are split nothing is decided"
    assert judge["precision"] == judge["recall"] == 1.0
    assert judge["split"] == sum(verdict == "false" for verdict in judged.values())
    assert judge["open"] == sum(not verdict for verdict in judged.values())
    raters = tables["raters"].set_index("question")
    assert raters.loc["tone", "percent"] == 0.0
    assert raters.loc["asks", "items"] == 30
    with_judge = tables["pairs"].query("other == 'judge' and rater == 'ann'")
    assert with_judge["percent"].tolist() == [1.0]
    assert set(tables["ratings_tone"]["ann"]) == {"friendly"}
    labels = read_labels([tmp_path / "out" / "labels.csv"])
    assert set(labels["question"]) == {"asks"}, "what no judge is asked corrects no judge"
    assert set(labels) >= {"system", "judge", "draw", "sample_id", "probability"}
    assert not {"other"} & set(tables["raters"])


def test_what_cannot_be_drawn_or_read_is_one_line(outside, tmp_path):
    folder = run_folder(tmp_path, "one")
    command = ["tone", "study", "sample", str(folder), "--out", "sheet.csv"]
    with pytest.raises(InputError, match="1 questions cannot show every system and judge"):
        CliRunner().invoke(app, [*command, "--n", "1"], catch_exceptions=False)
    with pytest.raises(InputError, match="is of tone, not of finforce"):
        words = ["finforce", *command[1:]]
        CliRunner().invoke(app, words, catch_exceptions=False)
    run(*command)
    with pytest.raises(InputError, match="write TRUE or FALSE or friendly, neutral, rude in asks"):
        words = ["tone", "study", "score", "sheet.csv"]
        CliRunner().invoke(app, words, catch_exceptions=False)
    help_text = run("tone", "study", "score", "--help")
    assert "--with-published" not in help_text, "there is nothing published"
    assert "--kind" not in run("tone", "study", "sample", "--help")


def test_an_exam_asks_by_the_family_s_own_template(outside, tmp_path, monkeypatch):
    asked = []

    def judge(name, **_):
        def reply(prompt):
            asked.append(prompt)
            return "T" if "?</text>" in prompt else "F"

        return says(reply, "j")

    monkeypatch.setattr("contrafact.exams.run.open_model", judge)
    command = ("exam", "--judge", "mockllm/j", "--family", "tone", "--out", "exam.json")
    run(*command, "--n", 40, "--seed", 2)
    exam = read_exam(tmp_path / "exam.json")
    assert (exam.family, exam.n, exam.task_version) == ("tone", 40, "3-B")
    assert exam.settings == {"loud": False}
    assert list(exam.pack.templates) == ["tone/judge"]
    assert exam.criteria["asks"].sensitivity.k == exam.criteria["asks"].specificity.k == 20
    rows = [json.loads(line) for line in (tmp_path / exam.items).read_text().splitlines()]
    assert {row["number"] for row in rows} <= {str(number) for number in range(30)}
    assert len(asked) == 40
    assert "no model was called" in run(*command, "--n", 40, "--seed", 2)
    # An option of its own is one of no other family's, and a template that changes is another exam.
    refused = CliRunner().invoke(app, [*command[:3], "--loud", "--out", "e.json"])
    assert refused.exit_code == 2 and "No such option: --loud" in refused.stderr
    template = outside / "prompts" / "judge.jinja"
    (outside / "prompts" / "other.jinja").write_text("a new one")
    assert "no model was called" in run(*command, "--n", 40, "--seed", 2)
    template.write_text(template.read_text() + "\n")
    with pytest.raises(InputError, match="differs in prompts"):
        CliRunner().invoke(app, [*command, "--n", "40"], catch_exceptions=False)
    assert family_named("tone").exam is not None
