"""The first hour of a newcomer: the README as it stands, with the base package alone."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from html import escape
from pathlib import Path

import pytest
import yaml
from tests.support.hidden import EXTRAS, hide
from tests.test_docs import parse

import contrafact as cf

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"

SENTENCES = (
    *("", "   ", "\n\n", "🚀📈🔥", "Profits fell.", "Net profit was $5 million.", "42", "3%", "$"),
    *("<b>Revenue rose 5% to $10 million</b>", "<script>alert(1)</script> rose 5%", "$$$", "=1+1"),
    *("收入增长5%至1000万元。", "Выручка выросла на 5% до 10 млн рублей.", "आय 5% बढ़ी।", "None"),
    *(
        "ارتفعت الإيرادات 5٪ إلى 10 ملايين دولار",
        "売上高は前年比12%増の340億円だった。",
        "nan",
        "-5%",
    ),
    *("Revenue rose 5% to $10 million. " * 60, "a" * 40_000, "Revenue\x00 rose 5%", "2024-05-06"),
    *("Shares of Kestrel Foods rose 3% to $170 on Monday.", "1,000,000,000,000", "½ of ² and Ⅳ"),
    *("It sold 12,000 units in 2019, up from 10,000 in 2018.", "Half the staff left in May."),
    *("Three of its five plants closed.", "Q3 EPS: $1.02 vs. $0.98 est.", "\ud83d rose 5%"),
    *("Sales dropped by a third, to 4.5bn euros, after a 10-for-1 split.", "{{ 5 }} {% 10% %}"),
    *("Up 5pc / 5 % / 5 per cent", "The 10-year yield fell 25 bps to 4.1%.", "Call +1 555 0100"),
    *("Le chiffre d'affaires a augmenté de 5 % à 1,2 milliard d'euros.", "https://x.org/5?x=10"),
    *("Der Umsatz stieg um 5 % auf 1.200 Mio. €.", "Inflation ran at 3.2 percent in July."),
)


def test_the_python_of_the_readme_prints_what_it_says_with_the_base_and_tokens_alone(tmp_path):
    paths = os.pathsep.join(
        (
            hide(tmp_path / "hidden", *(name for name in EXTRAS if name != "bpe_openai")),
            str(ROOT / "src"),
        )
    )
    done = subprocess.run(
        [sys.executable, ROOT / "tools/readme.py", README],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 3  # what it is, the tool has compared with the page


@pytest.mark.parametrize("text", SENTENCES, ids=lambda text: ascii(text[:20]))
def test_a_sentence_of_ones_own_is_rewritten_or_a_line_says_why_not(text):
    try:
        found = cf.rewrite([{"title": text, "manipulation": "numerical"}], seed=7)
    except cf.InputError as error:
        assert str(error).startswith("data:1: the title is empty")
        return
    rewritten = found.items["rewritten"].tolist()
    undecided = [note for note in found.notes if re.match(r"1 undecided: \S", note)]
    assert len(rewritten) + len(found.notes) - len(undecided) == 1
    assert all(one != text for one in rewritten)
    for note in found.notes:
        assert re.match(r"1 (?:dropped|undecided): \S", note) and "\n" not in note


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="no llama.cpp here")
def test_the_recorded_verdict_is_what_the_judge_says(contrafact, tmp_path):
    made = contrafact(
        "cobe", "synth", "--n", "1", "--seed", "7", "--out", "story.json", cwd=tmp_path
    )
    assert made.returncode == 0
    asked = "exam --judge embedded/smollm2-135m --family cobe --data story.json --n 5"
    done = contrafact(*asked.split(), "--out", "exam.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "exam.answers.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    answers = [json.loads(line)["answer"] for line in lines]
    replies = {one["reply"] for one in answers if one["criterion"] == "E3"}
    assert "The" in replies and not any(one["passed"] is not None for one in answers)


def test_the_commands_that_the_readme_begins_with_parse_and_its_links_are_the_twelve():
    page = README.read_text(encoding="utf-8")
    named = re.findall(r"^\| \*\*.+\| `contrafact (.+)` \|$", page, re.MULTILINE)
    assert [line.split()[0] for line in named] == ["run", "exam", "cobe", "train"]
    for line in named:
        parse(line.split())
    assert len(set(re.findall(r"(?<!!)\[[^\]]+\]\(([^)]+)\)", page))) == 12


def test_the_results_of_the_readme_stand_with_their_pages():
    rows = re.findall(r"^(\| [^*`\[].+?) \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    figures = [row for row in rows if re.search(r"\d of \d|\d%|\d\.\d", row)]
    kept = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert len(figures) == 12
    assert [row for row in figures if f"{row} | [" not in kept] == []


def test_the_picture_is_drawn_from_the_readings():
    spec = importlib.util.spec_from_file_location("story", ROOT / "docs" / "story_picture.py")
    story = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(story)
    assert story.drawing() == story.TARGET.read_text(encoding="utf-8")
    shown = " ".join(re.sub(r"<[^>]+>", "", story.drawing().partition("</style>")[2]).split())
    row = story.story()
    right, wrong = story.edits(row)
    assert all(right["verdicts"].values()) and wrong["fails"] == "E1"
    for text in (row["Variation text"], row["Query"][0], right["text"], wrong["text"]):
        assert escape(text) in shown
    assert story.quotations(row, wrong, story.STAYS) == [
        "Ivor shut the allotment gate on Friday evening"
    ]


def test_how_to_cite_is_said_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")
    assert citation["version"] == project["version"] and citation["license"] == project["license"]
    assert citation["repository-code"] == project["urls"]["Repository"]
    said = dict(re.findall(r"^  (url|version|license) +=\s\{(.+)\}", page, re.MULTILINE))
    assert said == {
        "url": citation["repository-code"],
        "version": citation["version"],
        "license": citation["license"],
    }
    titles = [one["title"] for one in (citation, *citation["references"])]
    assert re.findall(r"^  title +=\s\{(.+)\},$", page, re.MULTILINE) == titles
    authors = [
        " and ".join(f"{who['family-names']}, {who['given-names']}" for who in one["authors"])
        for one in citation["references"]
    ]
    assert re.findall(r"^  author +=\s\{([^{].+)\}$", page, re.MULTILINE) == authors


def test_what_it_is_is_said_in_one_sentence(contrafact):
    """The README's first sentence stands wherever the project is described."""
    first = README.read_text(encoding="utf-8").split("\n\n")[1].replace("**", "")
    sentence = " ".join(first.split()).partition(". ")[0] + "."
    assert sentence.startswith("contrafact is a Python toolkit") and len(sentence) > 100
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("CITATION.cff", "docs/llms.txt", "mkdocs.yml")
    }
    texts |= {"cf": cf.__doc__, "steps": contrafact().stdout, "help": contrafact("-h").stdout}
    lacks = {name for name, text in texts.items() if sentence not in " ".join(text.split())}
    assert lacks == set()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"contrafact is {project['description']}".replace("is A ", "is a ") == sentence
