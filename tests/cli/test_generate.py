"""``contrafact generate``: every row back in order, whatever happens on the way."""

import csv
import json
import os
import resource
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from tests.support.lines import one_line, read_lines, write_lines
from tests.support.terminal import at_terminal

NEWS = [
    "Brackwater Ferries books fewest passengers in a decade",
    "Ostrava mill reopens under new owners",
    "Central bank of Merrowland leaves its rate where it was",
    "Tallow & Finch recalls its kettles",
    "Grain ships leave Port Sable after the strike",
]


def headlines(path: Path, texts: list[str] = NEWS) -> Path:
    return write_lines(path, [{"headline": text} for text in texts])


def with_risk(texts: list[str]) -> list[str]:
    return [f"{text}, and lenders take fright" for text in texts]


@pytest.fixture
def generate(quick_contrafact, service):
    def run(*arguments: str, **options):
        defaults = {"env": service.environment}
        more = () if "--model" in arguments else ("--model", service.model)
        return quick_contrafact(
            "generate", *arguments, *more, "--max-retries", "0", **{**defaults, **options}
        )

    return run


def read(path: Path) -> list[dict]:
    if path.suffix == ".csv":
        with path.open(newline="") as stream:
            return list(csv.DictReader(stream))
    if path.suffix == ".jsonl":
        return read_lines(path)
    return pd.read_parquet(path).to_dict("records")


@pytest.mark.parametrize(
    ("source", "result"),
    [("in.csv", "out.jsonl"), ("in.json", "out.csv"), ("in.parquet", "out.parquet")],
)
def test_rows_come_back_in_order_in_every_format(generate, tmp_path, source, result):
    frame = pd.DataFrame(
        {
            "ref": [f"00{n}" for n in range(5)],
            "Headline": NEWS,
            "when": pd.date_range("2031-01-01", periods=5),
        }
    )
    if source.endswith("csv"):
        frame.to_csv(tmp_path / source, index=False)
    elif source.endswith("json"):
        frame.to_json(tmp_path / source, orient="records", date_format="iso")
    else:
        frame.to_parquet(tmp_path / source)
    generate(source, "--out", result, code=0)
    rows = read(tmp_path / result)
    assert [row["ref"] for row in rows] == list(frame["ref"])
    assert [row["risk_counterfactual"] for row in rows] == with_risk(NEWS)
    assert list(rows[0])[:3] == list(frame.columns)
    assert {str(row["valid"]) for row in rows} == {"True"}
    if result.endswith("parquet"):
        assert [row["when"] for row in rows] == list(frame["when"])


def test_columns_of_the_input_are_never_touched(generate, tmp_path):
    given = {"headline": NEWS[0], "id": 7, "valid": "maybe", "error": "E17", "repairs": None}
    write_lines(tmp_path / "in.jsonl", [given, {"headline": NEWS[1], "contrafact_id": "mine"}])
    assert generate("in.jsonl", "--out", "out.jsonl").returncode == 0
    first, second = read(tmp_path / "out.jsonl")
    assert {key: first[key] for key in given} == given
    assert first["contrafact_valid"] is True
    assert first["contrafact_error"] is None
    assert second["contrafact_id"] == "mine"
    assert second["contrafact_contrafact_id"].startswith("h")


def test_bad_rows_are_reported_by_line_and_kept(generate, tmp_path):
    rows = [NEWS[0], "", 17, None, "x" * 2001, "​‍", NEWS[1], ["a", "list"]]
    rows += ["NULL", "31.5", "https://example.com/a-story", "2031-05-01", "www.example.com"]
    write_lines(tmp_path / "in.jsonl", [{"headline": text, "n": n} for n, text in enumerate(rows)])
    done = generate("in.jsonl", "--out", "out.jsonl", code=0)
    for expected in (
        "in.jsonl:2: the headline is empty",
        "in.jsonl:3: the headline is not text",
        "in.jsonl:4: there is no headline",
        "in.jsonl:5: the headline is over 2,000 characters (2,001)",
        "in.jsonl:6: the headline has no visible character",
        "in.jsonl:8: the headline is not text",
        "in.jsonl:9: there is no headline: the cell says NULL",
        "in.jsonl:10: the headline is a number",
        "in.jsonl:11: the headline is a link, and links are not followed",
        "in.jsonl:12: the headline is a number",
        "in.jsonl:13: the headline is a link, and links are not followed",
        "13 rows: 2 valid, 11 without a usable headline",
    ):
        assert expected in done.stderr
    back = read(tmp_path / "out.jsonl")
    assert [row["headline"] for row in back] == rows
    assert [row["valid"] for row in back] == [text in NEWS for text in rows]
    assert [bool(row["error"]) for row in back] == [text not in NEWS for text in rows]
    # Columns of several types go into Parquet too, which has one type a column.
    assert generate("in.jsonl", "--out", "out.parquet").returncode == 0
    assert list(pd.read_parquet(tmp_path / "out.parquet")["headline"])[2] == "17"


def test_judges_score_the_scenarios(generate, service, tmp_path):
    headlines(tmp_path / "in.jsonl")
    generate("in.jsonl", "--out", "out.jsonl", "--judge", service.judge, code=0)
    for row in read(tmp_path / "out.jsonl"):
        for side in ("risk", "opportunity"):
            for criterion in ("forward_compatibility", "directionality"):
                assert row[f"{side}_{criterion}"] in (True, False)
    assert len(service.stats()["answered"]) == 5 * 5


def test_a_spreadsheet_runs_nothing_a_model_wrote(generate, tmp_path):
    headlines(tmp_path / "in.jsonl", ['=HYPERLINK("http://x.invalid")', "Plain news"])
    assert generate("in.jsonl", "--out", "out.csv").returncode == 0
    formula, plain = read(tmp_path / "out.csv")
    assert formula["risk_counterfactual"].startswith("'=HYPERLINK")
    assert formula["headline"] == '=HYPERLINK("http://x.invalid")'
    assert plain["risk_counterfactual"] == with_risk(["Plain news"])[0]


def test_a_pipe_in_and_out_is_worked_on_as_a_file_is(generate):
    text = json.dumps([*({"title": title} for title in NEWS), {"title": ""}], indent=1)
    done = generate("-", "--out", "-", input=text, code=0)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["risk_counterfactual"] for row in rows] == [*with_risk(NEWS), None]
    assert "standard input:17: the headline is empty" in done.stderr
    failed = generate("-", "--out", "-", input='{"headline": "The doomed harbour of Vell"}\n')
    assert failed.returncode == 1
    assert "engine is on fire" in json.loads(failed.stdout)["error"]
    for text, problem in (
        ('{"headline": "News"}\n\n{"headline": \n', "standard input:3: bad JSON"),
        ("headline\n", "standard input: the file holds no rows"),
    ):
        assert problem in one_line(generate("-", "--out", "-", input=text))


def test_order_is_kept_though_answers_come_out_of_order(generate, service, tmp_path):
    texts = [f"News item {n}" for n in range(60)]
    headlines(tmp_path / "in.jsonl", texts)
    done = generate("in.jsonl", "--out", "out.jsonl", "--max-connections", "8", code=0)
    rows = read(tmp_path / "out.jsonl")
    assert [row["risk_counterfactual"] for row in rows] == with_risk(texts)
    assert done.stderr.count("rows: ") == 11  # a plain line every tenth, and the summary
    assert "\x1b" not in done.stderr


def test_a_finished_file_calls_no_model_and_is_kept(generate, service, tmp_path):
    headlines(tmp_path / "in.jsonl")
    command = ("in.jsonl", "--out", "out.csv", "--temperature", "0")
    assert generate(*command).returncode == 0
    before = service.stats(), (tmp_path / "out.csv").read_bytes()
    again = generate(*command, code=0)
    assert "no model was called" in again.stdout
    other = generate("in.jsonl", "--out", "out.csv", "--temperature", "1", "--seed", "3")
    assert "out.csv: holds the result of another generation" in one_line(other)
    assert "it differs in seed, temperature" in other.stderr
    headlines(tmp_path / "in.jsonl", NEWS[:2])
    assert "it differs in input" in one_line(generate(*command))
    assert before == (service.stats(), (tmp_path / "out.csv").read_bytes())
    assert sorted(p.name for p in tmp_path.iterdir()) == [".out.csv.done", "in.jsonl", "out.csv"]
    headlines(tmp_path / "in.jsonl")
    (tmp_path / "out.csv").unlink()
    assert generate(*command).returncode == 0
    assert (tmp_path / "out.csv").read_bytes() == before[1]


def test_a_file_of_somebody_else_is_never_overwritten(generate, service, tmp_path):
    source = headlines(tmp_path / "in.jsonl")
    (tmp_path / "mine.csv").write_text("dear,diary\n")
    assert "no generation has written it" in one_line(generate("in.jsonl", "--out", "mine.csv"))
    assert "no generation has written it" in one_line(generate("in.jsonl", "--out", "in.jsonl"))
    assert (tmp_path / "mine.csv").read_text() == "dear,diary\n"
    assert len(source.read_text().splitlines()) == 5
    assert service.stats()["answered"] == {}


def test_rows_whose_calls_fail_are_kept_and_tried_again(generate, service, tmp_path):
    texts = [*NEWS[:2], "The doomed harbour of Vell", *NEWS[2:]]
    headlines(tmp_path / "in.jsonl", texts)
    command = ("in.jsonl", "--out", "out.jsonl")
    first = generate(*command)
    assert first.returncode == 1
    assert "6 rows: 5 valid, 1 failed" in first.stderr
    assert "1 call failed" in first.stderr and "engine is on fire" in first.stderr
    row = read(tmp_path / "out.jsonl")[2]
    assert "engine is on fire" in row["error"]
    assert row["risk_counterfactual"] is None
    answered = service.stats()["answered"]
    second = generate(*command)
    assert second.returncode == 1
    assert "resuming: 5 answers" in second.stderr
    assert service.stats()["answered"] == answered
    assert set(answered.values()) == {1}
    # What somebody wrote into the unfinished result is not lost.
    with (tmp_path / "out.jsonl").open("a") as stream:
        stream.write("note\n")
    assert "was changed" in one_line(generate(*command))
    assert (tmp_path / "out.jsonl").read_text().endswith("note\n")


def until(process, ready) -> None:
    deadline = time.monotonic() + 600
    while not ready():
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_ctrl_c_stops_and_says_how_to_go_on(
    quick_contrafact, start_contrafact, start_service, tmp_path
):
    headlines(tmp_path / "in.jsonl", [f"News item {n}" for n in range(40)])
    with start_service("--latency", "0.3") as service:
        command = ("in.jsonl", "--model", service.model, "--out", "out.csv")
        with start_contrafact(
            "generate", *command, "--max-connections", "2", env=service.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            until(process, lambda: len(service.stats()["answered"]) > 5)
            process.send_signal(signal.SIGINT)
            _, shown = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "goes on when the command is repeated" in shown
        assert "Traceback" not in shown
        assert not (tmp_path / "out.csv").exists()
        assert quick_contrafact("generate", *command, env=service.environment).returncode == 0
    assert len(read(tmp_path / "out.csv")) == 40


def test_two_at_once_on_one_result_are_refused(
    quick_contrafact, start_contrafact, start_service, tmp_path
):
    headlines(tmp_path / "in.jsonl")
    with start_service("--latency", "60") as service:
        command = ("in.jsonl", "--model", service.model, "--out", "out.csv")
        with start_contrafact("generate", *command, env=service.environment) as process:
            until(process, (tmp_path / ".out.csv.part").exists)
            second = quick_contrafact("generate", *command, env=service.environment)
            process.kill()
    assert "out.csv: another process is working on this" in one_line(second)


@pytest.mark.slow
def test_a_full_disk_is_reported_and_leaves_no_half_file(start_contrafact, service, tmp_path):
    headlines(tmp_path / "in.jsonl", [f"News item {n} {'x' * 1000}" for n in range(60)])
    with start_contrafact(
        "generate", "in.jsonl", "--model", service.model, "--out", "out.csv",
        env={**service.environment, "PYTHONDONTWRITEBYTECODE": "1"},
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (50_000, 50_000))
        _, shown = process.communicate(timeout=100)
    assert process.returncode == 2, shown
    assert "Traceback" not in shown
    assert "file too large" in shown
    assert not (tmp_path / "out.csv").exists()


def test_a_key_never_reaches_what_is_written(generate, service, tmp_path):
    headlines(tmp_path / "in.jsonl", [*NEWS, "The doomed harbour of Vell"])
    done = generate("in.jsonl", "--out", "out.jsonl", "--judge", service.judge)
    key = service.environment["FAKE_API_KEY"].encode()
    assert key.decode() not in done.stdout + done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert tmp_path / ".out.jsonl.part" in files  # rows and answers
    assert not [path for path in files if key in path.read_bytes()]


def test_a_cause_is_reported_without_the_secrets_of_the_environment(monkeypatch):
    from contrafact.models.asking import failure_cause

    monkeypatch.setenv("SOME_API_KEY", "sk-abcdefgh")
    try:
        try:
            raise OSError("no route to host\nsecond line")
        except OSError as low:
            raise RuntimeError("Connection error.") from low
    except RuntimeError as error:
        assert failure_cause(error) == (
            "RuntimeError: Connection error. (OSError: no route to host second line)"
        )
    assert failure_cause(ValueError("bad key sk-abcdefgh given, ask your administrator")) == (
        "ValueError: bad key (left out) given, ask your administrator"
    )


@pytest.mark.slow
def test_the_embedded_model_writes_and_resumes_nothing(
    quick_contrafact, short_prompts, chance_path, tmp_path
):
    headlines(tmp_path / "in.csv.jsonl", NEWS[:2])
    arguments = ("generate", "in.csv.jsonl", "--model", "embedded/smollm2-135m",
                 "--out", "out.jsonl", "--temperature", "0", "--max-tokens", "40",
                 "--prompts", str(short_prompts))  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": chance_path}
    quick_contrafact(*arguments, env=environment, code=0)
    rows = read(tmp_path / "out.jsonl")
    assert [row["headline"] for row in rows] == NEWS[:2]
    assert all(row["valid"] or row["error"] for row in rows)
    assert "no model was called" in quick_contrafact(*arguments, env=environment).stdout


def test_a_headline_that_comes_again_is_asked_about_once(generate, service, tmp_path):
    headlines(tmp_path / "in.jsonl", [NEWS[0], NEWS[1], NEWS[0], f" {NEWS[0]} ", NEWS[0].upper()])
    generate("in.jsonl", "--out", "out.jsonl", "--judge", service.judge, code=0)
    rows = read(tmp_path / "out.jsonl")
    assert rows[0]["risk_counterfactual"] == rows[2]["risk_counterfactual"]
    assert rows[0]["risk_directionality"] == rows[2]["risk_directionality"] is not None
    distinct = len({row["id"] for row in rows})
    assert distinct == 3  # capitals make another headline, spaces around one do not
    # Each prompt once: one of the writer and four of the judge for each headline.
    answered = service.stats()["answered"]
    assert len(answered) == 5 * distinct
    assert set(answered.values()) == {1}


def test_the_first_rows_alone_are_taken_from_a_file_and_from_a_pipe(generate, tmp_path):
    headlines(tmp_path / "in.jsonl")
    assert generate("in.jsonl", "--out", "out.jsonl", "--limit", "2").returncode == 0
    assert [row["headline"] for row in read(tmp_path / "out.jsonl")] == NEWS[:2]
    piped = generate("-", "--out", "-", "--limit", "2", input=(tmp_path / "in.jsonl").read_text())
    assert len(piped.stdout.splitlines()) == 2


def test_an_estimate_calls_nothing_and_counts_a_repeated_headline_once(generate, service, tmp_path):
    headlines(tmp_path / "in.jsonl", [*NEWS, NEWS[0], NEWS[0].replace(" ", "  ", 1)])
    told = generate("in.jsonl", "--out", "out.jsonl", "--judge", service.judge, "--estimate")
    assert told.returncode == 0, told.stderr
    assert "25 calls" in told.stdout
    assert not service.stats()["answered"]
    assert not (tmp_path / "out.jsonl").exists()


def test_a_file_in_the_published_layout_gets_its_headline_as_a_column(generate, tmp_path):
    rows = [{"item_index": n, "input_item": {"headline": text}} for n, text in enumerate(NEWS[:2])]
    write_lines(tmp_path / "in.jsonl", rows)
    assert generate("in.jsonl", "--out", "out.csv").returncode == 0
    assert [row["headline"] for row in read(tmp_path / "out.csv")] == NEWS[:2]
    piped = generate("-", "--out", "-", input=(tmp_path / "in.jsonl").read_text())
    assert [json.loads(line)["headline"] for line in piped.stdout.splitlines()] == NEWS[:2]


def test_the_provider_is_given_its_arguments_and_a_wrong_one_is_told(quick_contrafact, tmp_path):
    headlines(tmp_path / "in.jsonl")
    arguments = ("generate", "in.jsonl", "--model", "embedded/smollm2-135m", "--out", "out.jsonl")
    result = quick_contrafact(*arguments, "-M", "thread=1")
    assert "thread" in one_line(result)
    assert "KEY=VALUE" in one_line(quick_contrafact(*arguments, "-M", "threads"))
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_many_paid_calls_are_asked_about_first_at_a_terminal(start_contrafact, service, tmp_path):
    headlines(tmp_path / "in.jsonl", [f"{NEWS[0]}, again: part {n}" for n in range(1_001)])
    command = ("generate", "in.jsonl", "--model", service.model, "--out", "out.jsonl")
    start = partial(start_contrafact, *command, env=service.environment)
    code, shown = at_terminal(start, b"n\n")
    assert "This run makes about 1,001 paid calls. Go on? [y/N]" in shown
    assert code != 0
    assert not service.stats()["answered"]
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("words", ["generate h.csv --out o.csv", "run finforce --data h.csv"])
def test_a_server_that_is_down_is_named(quick_contrafact, tmp_path, words):
    (tmp_path / "h.csv").write_text("headline\nTern & Vale raises its dividend\n")
    address = {"DESK_BASE_URL": "http://ann:hush@127.0.0.1:9/v1", "DESK_API_KEY": "none"}
    asked = (*words.split(), "--model", "openai-api/desk/m", "--max-retries", "0")
    done = quick_contrafact(*asked, env={**os.environ, **address}, code=1)
    assert "no connection to http://127.0.0.1:9/v1: is the server up?" in done.stderr
    assert "hush" not in done.stderr
