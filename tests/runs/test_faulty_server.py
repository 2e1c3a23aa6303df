"""A service that fails in every way: no sample is lost, none is scored twice."""

import json
from collections import Counter

import pandas as pd
import pytest

from contrafact.families.finforce.data import bundled_headlines


@pytest.mark.slow
def test_every_sample_ends_scored_or_listed_with_its_cause(
    quick_contrafact, start_service, tmp_path
):
    headlines = [headline.text for headline in bundled_headlines()[:9]]
    headlines[4] = "Doomed mill in Ostrava files for protection"  # the server never answers it
    headlines[4] = headlines[4].replace("Doomed", "The doomed")
    data = tmp_path / "news.jsonl"
    data.write_text("".join(json.dumps({"headline": h}) + "\n" for h in headlines))
    with start_service(
        "--faults", "429,500,reset,stall,truncated,notjson", "--stall", "30"
    ) as service:
        arguments = (
            "run", "finforce", "--data", str(data), "--model", service.model,
            "--judge", service.judge, "--out", "run", "--fluency-model", "none",
            "--attempt-timeout", "4", "--max-retries", "2", "--timeout", "60",
        )  # fmt: skip
        first = quick_contrafact(*arguments, env=service.environment)
        assert first.returncode == 1, first.stderr
        scored, failed = outcome(tmp_path / "run")
        # Every sample is scored once or listed once.
        assert len(scored) + len(failed) == len(scored | failed) == 9
        # A request is failed once; in the end only the sample that never is answered stays.
        for _ in range(3):
            again = quick_contrafact(*arguments, env=service.environment)
            if "1 of 9 samples failed" in again.stderr:
                break
        stats = service.stats()
    assert again.returncode == 1
    assert "1 of 9 samples failed" in again.stderr
    scored, failed = outcome(tmp_path / "run")
    assert (len(scored), len(failed)) == (8, 1)
    failures = pd.read_csv(tmp_path / "run" / "failures.csv")
    assert "engine is on fire" in failures["cause"].item()
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert items[["forward_compatibility", "directionality"]].notna().all().all()
    # Every kind of failure was met, and nothing that had been answered was asked again.
    assert set(stats["met"]) == {"429", "500", "reset", "stall", "truncated", "notjson"}
    assert set(stats["answered"].values()) == {1}
    assert len(stats["answered"]) == 8 * 5
    text = first.stdout + first.stderr + (tmp_path / "run" / "manifest.json").read_text()
    assert service.environment["FAKE_API_KEY"] not in text


def outcome(run):
    items = pd.read_parquet(run / "items.parquet")
    assert not items.duplicated(["sample_id", "side"]).any()
    failures = run / "failures.csv"
    failed = set(pd.read_csv(failures)["sample_id"]) if failures.exists() else set()
    return set(items["sample_id"]), failed


@pytest.mark.slow
def test_a_service_that_is_not_there_is_a_failure_reported_in_one_line(
    quick_contrafact, service, tmp_path
):
    environment = {**service.environment, "FAKE_BASE_URL": "http://127.0.0.1:9/v1"}
    result = quick_contrafact(
        "run", "finforce", "--model", service.model, "--limit", "2", "--out", "run",
        "--max-retries", "1", "--timeout", "20", "--fluency-model", "none", env=environment,
    )  # fmt: skip
    assert result.returncode == 1
    assert "2 of 2 samples failed" in result.stderr
    assert "Connect" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_sample_that_starts_again_does_not_ask_again_what_a_service_failed_at(
    quick_contrafact, start_service, tmp_path
):
    lines = [{"headline": f"The {name} mill lifts its dividend"} for name in ("doomed", "old")]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with start_service("--faults", "422") as service:
        result = quick_contrafact(
            "run", "finforce", "--data", "in.jsonl", "--model", service.model, "--out", "run",
            "--max-retries", "1", "--fluency-model", "none", env=service.environment,
        )  # fmt: skip
        assert result.returncode == 1 and "2 of 2 samples failed" in result.stderr
        assert service.stats()["met"] == {"500": 2, "422": 1}
        assert service.stats()["answered"] == {}


def test_a_missing_key_is_reported_before_the_first_call(quick_contrafact, service):
    environment = {k: v for k, v in service.environment.items() if k != "FAKE_API_KEY"}
    result = quick_contrafact("run", "finforce", "--model", service.model, env=environment)
    assert result.returncode == 2
    assert "FAKE_API_KEY" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def written(folder, rows):
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


PLACES = [f"Port {letter}{end}" for letter in "ABCDEFGHIJKL" for end in ("ora", "ume")]


def headlines(folder):
    written(folder, [{"headline": f"The mill in {place} lifts its dividend"} for place in PLACES])


def outputs(folder):
    texts = {"risk": "Lenders fear for {}", "opportunity": "Orders reach {}"}
    written(folder, [
        {"headline": f"The mill in {place} grows", "side": side, "text": text.format(place)}
        for place in PLACES for side, text in texts.items()
    ])  # fmt: skip


def news(folder):
    kinds = ("numerical", "flipping", "sentiment", "causal")
    written(folder, [
        {
            "title": f"The mill in {place} grows", "id": place, "candidates": [],
            "summary": f"The shares rose {n + 12}% due to demand in {place}.",
            "manipulation": kinds[n % 4],
        }
        for n, place in enumerate(PLACES)
    ])  # fmt: skip


def pairs(folder):
    texts = [f"The mill in {place} grows. Its shares rose on strong demand." for place in PLACES]
    turned = [text.replace("rose", "fell").replace("strong", "weak") for text in texts]
    written(folder, [
        {"id": a, "original": a, "rewritten": b, "manipulation": "flipping"}
        for a, b in zip(texts, turned, strict=True)
    ])  # fmt: skip


def stories(folder):
    from contrafact.families.cobe.data import bundled_stories, story_object

    cores = {story.core_set_id: story for story in reversed(bundled_stories())}
    (folder / "in.json").write_text(json.dumps([*map(story_object, cores.values())]))


MODEL, JUDGE = ("--model", "openai-api/fake/writer"), ("--judge", "openai-api/fake/judge")
NO_FLUENCY = ("--fluency-model", "none")
COMMANDS = {
    "run rfc-detect": (None, ("--limit", "16", *MODEL), "run"),
    "run cobe": (None, ("--limit", "6", *MODEL, *JUDGE), "run"),
    "score finforce": (outputs, ("in.jsonl", *JUDGE, *NO_FLUENCY), "run"),
    "generate": (headlines, ("in.jsonl", *MODEL, *JUDGE), "o.csv"),
    "exam": (None, (*JUDGE, "--n", "20"), "o.json"),
    "finforce screen": (headlines, ("in.jsonl", *MODEL), "o.jsonl"),
    "rfc label": (news, ("in.jsonl", *MODEL), "o.jsonl"),
    "rfc rewrite": (news, ("in.jsonl", *MODEL, *JUDGE), "o.jsonl"),
    "rfc check": (pairs, ("in.jsonl", *JUDGE), "o.jsonl"),
    "cobe augment": (stories, ("in.json", *MODEL, "--n", "8"), "o.json"),
}
TEN = "429,500,reset,stall,truncated,notjson,nochoices,error200,empty,html"


def made_by(out):
    """Return what a command wrote, without what calls took and when."""
    if out.is_file():
        return out.read_bytes()
    items, verdicts = (
        pd.read_parquet(out / f"{name}.parquet") if (out / f"{name}.parquet").exists() else None
        for name in ("items", "verdicts")
    )
    costs = ["calls", "tokens", "dollars"]
    return [
        None if table is None else table.drop(columns=costs, errors="ignore").to_json()
        for table in (items, verdicts)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_neither_faults_nor_a_used_up_quota_change_an_output_or_have_anything_asked_twice(
    quick_contrafact, start_service, tmp_path, name
):
    """One request in five meets one of ten faults, each 2% of all, or finds the quota used up."""
    inputs, options, out = COMMANDS[name]
    if inputs is not None:
        inputs(tmp_path)
    connections = 4

    def command(kind, service):
        (tmp_path / kind).mkdir(exist_ok=True)
        result = quick_contrafact(
            *name.split(), *options, "--out", f"{kind}/{out}", "--attempt-timeout", "3",
            "--max-connections", str(connections), env=service.environment,
        )  # fmt: skip
        assert "Traceback" not in result.stderr
        return result, service.stats(), made_by(tmp_path / kind / out)

    def same(answered):
        # Edits that are the same word for word are judged at once, or one after the other.
        return answered.keys() == asked.keys() and (name == "run cobe" or answered == asked)

    with start_service() as service:
        well, stats, wanted = command("well", service)
    asked = stats["answered"]
    with start_service("--faults", TEN, "--share", "0.2", "--stall", "20") as service:
        result, stats, made = command("faulty", service)
    assert (result.returncode, made) == (well.returncode, wanted), result.stderr
    assert same(stats["answered"]) and Counter(stats["met"]).total() > 0
    if out == "run":
        used = pd.read_csv(tmp_path / "faulty" / out / "usage.csv")["calls"].sum()
        # What came without a word was answered, and is paid for, too.
        assert used == sum(stats["answered"].values()) + stats["met"].get("empty", 0)

    # The first request of a fifth that finds the quota used up is the last but those in flight.
    with start_service("--faults", "quota", "--share", "0.2") as service:
        ended, stats, _ = command("spent", service)
        service.mend()
        resumed, after, made = command("spent", service)
    assert ended.returncode == 1 and resumed.returncode == well.returncode, resumed.stderr
    assert 1 <= stats["met"]["quota"] <= connections and 0 < len(stats["answered"]) < len(asked)
    assert made == wanted and same(after["answered"])
    assert "the quota is used up: " in ended.stderr and "you have spent it" in ended.stderr


@pytest.mark.parametrize("name", ["run finforce", "score finforce", "generate", "rfc check"])
def test_a_text_of_blanks_is_no_answer_is_told_and_is_asked_for_again(
    quick_contrafact, start_service, tmp_path, name
):
    headlines(tmp_path)
    given = ("--data", "in.jsonl", "--limit", "2", *MODEL, *NO_FLUENCY)
    inputs, options, out = COMMANDS.get(name, (None, given, "run"))
    if inputs is not None:
        inputs(tmp_path)
        lines = (tmp_path / "in.jsonl").read_text().splitlines(keepends=True)
        (tmp_path / "in.jsonl").write_text("".join(lines[:2]))
    with start_service("--faults", "blank") as service:
        said = [*name.split(), *options, "--out", out]
        ill = quick_contrafact(*said, env=service.environment)
        assert ill.returncode == 1 and "replied without a word, twice" in ill.stderr
        assert service.stats()["answered"] == {}
        service.mend()
        well = quick_contrafact(*said, env=service.environment)
        assert "without a word" not in well.stderr
        answered = service.stats()["answered"]
        assert set(answered.values()) == {1}
        quick_contrafact(*said, env=service.environment)
        assert service.stats()["answered"] == answered
    assert "without a word" not in str(made_by(tmp_path / out))


def test_refusals_and_filters_are_told_from_what_cannot_be_read(
    quick_contrafact, start_service, tmp_path
):
    headlines(tmp_path)
    faults = "refusal,filter,length,parts,azure,reasoned,called,cut,oddusage"
    with start_service("--faults", faults) as service:
        result = quick_contrafact(
            "run", "finforce", "--data", "in.jsonl", *MODEL, *NO_FLUENCY, "--out", "run",
            env=service.environment,
        )  # fmt: skip
        met = service.stats()["met"]
    assert result.returncode == 0, result.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    wanted = {
        "refused": met["refusal"],
        "filtered": met["filter"] + met["azure"],
        "cut off": met["length"],
        "reasoning only": met["reasoned"],
        "tool call": met["called"],
    }
    assert dict(items["invalid_cause"].value_counts() // 2) == wanted
    tables = tmp_path / "run" / "tables"
    invalid = pd.read_csv(tables / "invalid.csv").iloc[0]
    assert [invalid[key.replace(" ", "_")] / 2 for key in wanted] == [*wanted.values()]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Refused" in page and "Filtered" in page
    cut = f"{met['cut']} of {sum(met.values())} prompts"
    assert cut in page and result.stdout.split("intervals")[1].lstrip().startswith(
        "The service cut"
    )
    assert cut in " ".join(result.stdout.split()) and "prompt tokens" in result.stderr
    assert f"The token limit ended {2 * met['length']} of {len(items)} of " in " ".join(
        result.stdout.split()
    )
