"""Outputs made elsewhere are read, judged and reported like a run's, and nothing is generated."""

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai.log import list_eval_logs, read_eval_log

from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.files.tables import write_frame
from contrafact.runs.config import Source
from contrafact.runs.score import prepare_score

SAMPLES = Path(__file__).parents[2] / "src" / "contrafact" / "families"
QUIET = ("--fluency-model", "none")
PAIRS = [
    ("Lathe maker cuts its outlook", "Rivals follow and lenders call in loans", "Orders return"),
    ("Port of Anselm reopens", "A strike closes it again", "Freight rates fall for exporters"),
    ("Regulator fines Vale Bank", "Depositors leave other banks too", "Vale Bank is cleared"),
]
WIDE = [
    {"headline": h, "risk_counterfactual": r, "opportunity_counterfactual": o} for h, r, o in PAIRS
]
LONG = [
    {"headline": h, "side": side, "text": text}
    for h, r, o in PAIRS
    for side, text in (("risk", r), ("opportunity", o))
]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def texts_of(prepared):
    """By system, sample and draw, the two texts that would be judged."""
    return {
        (name, *key): dict(output["texts"])
        for name, system in prepared.recorded.systems.items()
        for key, output in system.outputs.items()
    }


def score(tmp_path, rows, task="finforce", **more):
    options = {"fluency_model": None} if task == "finforce" else {}
    given = more.pop("given", {})
    source = Source(score=lines(tmp_path / "o.jsonl", rows), **more)
    return prepare_score(task, source, given, options)


# ---- layouts


def test_wide_long_nested_and_reply_layouts_give_the_same_outputs(tmp_path):
    nested = [
        {
            "item_index": i,
            "input_item": {"headline": h, "category": "Macro-economic indicators"},
            "output": {
                "scenarios": [
                    {
                        "original_headline": h,
                        "risk_counterfactual_scenario": r,
                        "opportunity_counterfactual_scenario": o,
                    }
                ]
            },
        }
        for i, (h, r, o) in enumerate(PAIRS)
    ]
    reply = [
        {
            "News Headline": h,
            "reply": json.dumps({"risk_counterfactual": r, "opportunity_counterfactual": o}),
        }
        for h, r, o in PAIRS
    ]
    found = [texts_of(score(tmp_path, rows, system="x")) for rows in (WIDE, LONG, nested, reply)]
    assert len(found[0]) == 3
    assert found[0] == found[1] == found[2] == found[3]
    category = score(tmp_path, nested, system="x").items[0].category
    assert category == "Macroeconomic indicators"


def test_tables_of_all_kinds_give_the_same_outputs(tmp_path):
    frame = pd.DataFrame(WIDE)
    expected = texts_of(score(tmp_path, WIDE, system="x"))
    (tmp_path / "o.json").write_text(json.dumps(WIDE))
    for name in ("o.csv", "o.parquet", "o.xlsx"):
        write_frame(frame, tmp_path / name)
    for name in ("o.json", "o.csv", "o.parquet", "o.xlsx"):
        made = prepare_score("finforce", Source(score=tmp_path / name, system="x"), {}, {})
        assert texts_of(made) == expected, name


def test_systems_come_from_a_column_or_a_name_or_the_file(tmp_path):
    both = [{**row, "system": name} for row in WIDE for name in ("a", "b, c: d")]
    assert list(score(tmp_path, both).recorded.systems) == ["a", "b, c: d"]
    models = [{**row, "model": "openai/gpt-4o", "method": "own"} for row in WIDE]
    made = score(tmp_path, models)
    assert list(made.recorded.systems) == ["openai/gpt-4o · own"]
    assert made.settings.models == ("openai/gpt-4o",)
    assert list(score(tmp_path, WIDE).recorded.systems) == ["o"]
    assert list(score(tmp_path, WIDE, system="reference").recorded.systems) == ["reference"]
    with pytest.raises(InputError, match="--system has no effect"):
        score(tmp_path, both, system="c")


def test_columns_may_have_names_of_their_own(tmp_path):
    rows = [{"titre": h, "bearish_text": r, "bullish_text": o} for h, r, o in PAIRS]
    columns = {"headline": "titre", "risk": "bearish_text", "opportunity": "bullish_text"}
    made = score(tmp_path, rows, system="x", columns=columns)
    assert texts_of(made) == texts_of(score(tmp_path, WIDE, system="x"))
    with pytest.raises(InputError, match=r"do not fit finforce \(found: titre, bearish_text"):
        score(tmp_path, rows)


PAIRS_OF_RFC = SAMPLES / "rfc" / "samples" / "pairs.jsonl"


def items_of(task="rfc-detect"):
    """The bundled pairs as a task shows them."""
    run = task_named(task).run.load()
    return run.units(run.load(PAIRS_OF_RFC)[0])


def labels_of_rows(tmp_path, task, rows, suffix=".jsonl"):
    """By system and sample, the answer that would be scored."""
    file = tmp_path / f"labels{suffix}"
    write_frame(pd.DataFrame(rows), file)
    made = prepare_score(task, Source(score=file), {"data": PAIRS_OF_RFC}, {})
    return {
        (name, sample): output
        for name, system in made.recorded.systems.items()
        for (sample, _), output in system.outputs.items()
    }


def test_labels_come_as_words_truth_values_and_replies_by_id_or_text(tmp_path):
    units = items_of()
    said = {unit.id: "true" if n % 3 else "false" for n, unit in enumerate(units)}
    ways = {
        ".csv": [{"id": u.id, "label": said[u.id].upper()} for u in units],
        ".xlsx": [{"Item ID": u.id, "Prediction": said[u.id] == "true"} for u in units],
        ".parquet": [{"paragraph": u.shown, "label": said[u.id]} for u in units],
        ".jsonl": [{"id": u.id, "reply": f"It reads so.\n{said[u.id]}"} for u in units],
    }
    for suffix, rows in ways.items():
        found = labels_of_rows(tmp_path, "rfc-detect", rows, suffix)
        assert {sample: one["predicted"] for (_, sample), one in found.items()} == said, suffix
    several = [{"system": name, **row} for name in ("one", "two Ö") for row in ways[".csv"]]
    assert len(labels_of_rows(tmp_path, "rfc-detect", several)) == 2 * len(units)


@pytest.mark.parametrize(
    ("fields", "p_true"),
    [
        ({"label": "true", "p_true": 0.8}, 0.8),
        ({"label": "false", "p_false": 0.8}, 0.2),
        ({"label": "true", "probability": 0.8}, 0.8),
        ({"label": "false", "Confidence": "0.8"}, 0.2),
        ({"label": "false", "p_true": 0.1, "p_false": 0.9, "confidence": 0.5}, 0.1),
    ],
)
def test_a_probability_is_of_a_label_or_of_the_one_given(tmp_path, fields, p_true):
    rows = [{"id": unit.id, **fields} for unit in items_of()]
    for one in labels_of_rows(tmp_path, "rfc-detect", rows, ".csv").values():
        assert one["probabilities"]["true"] == pytest.approx(p_true)


def test_a_diagnosis_names_its_pair_by_id_or_rewrite_and_has_all_probabilities_or_none(tmp_path):
    units = items_of("rfc-diagnose")
    by_id = [{"id": u.id, "label": u.gold.capitalize()} for u in units]
    by_text = [{"original": u.pair.original, "rewritten": u.pair.rewritten, "reply": u.gold}
               for u in units]  # fmt: skip
    for rows in (by_id, by_text):
        found = labels_of_rows(tmp_path, "rfc-diagnose", rows)
        assert {s: one["predicted"] for (_, s), one in found.items()} == {
            unit.id: unit.gold for unit in units
        }
    whole = {"p_numerical": 0.1, "p_flipping": 0.2, "p_sentiment": 0.3, "p_causal": 0.4}
    for fields, some in ((whole, True), ({"p_causal": 0.4}, False)):
        rows = [{"id": unit.id, "label": "causal", **fields} for unit in units]
        found = labels_of_rows(tmp_path, "rfc-diagnose", rows)
        assert {one["probabilities"] is not None for one in found.values()} == {some}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"label": 1}, "the label is '1'; write one of true, false"),
        ({"label": "true", "p_true": "70%"}, "p_true is '70%'; give a probability from 0 to 1"),
        ({"label": "true", "probability": 7}, "probability is '7'; give a probability from 0"),
    ],
)
def test_a_label_or_probability_that_nobody_can_tell_is_one_line(tmp_path, row, said):
    first, *_ = items_of()
    with pytest.raises(InputError) as caught:
        labels_of_rows(tmp_path, "rfc-detect", [{"id": first.id, **row}])
    assert said in str(caught.value)
    with pytest.raises(InputError, match="is a pair, and detection shows its two paragraphs"):
        labels_of_rows(tmp_path, "rfc-detect", [{"id": first.pair.id, "label": "true"}])


def test_a_system_of_which_nothing_can_be_read_is_said(tmp_path):
    rows = [{"id": unit.id, "label": "fake"} for unit in items_of()]
    made = score(tmp_path, rows, "rfc-detect", given={"data": PAIRS_OF_RFC}, system="x")
    assert made.manifest.data.notes == ["o.jsonl: x: none of its 48 outputs can be read: no label"]


# ---- nothing is dropped in silence


@settings(max_examples=40)
@given(rows=st.permutations(LONG), copies=st.lists(st.integers(0, 5), max_size=4))
def test_the_order_of_rows_and_repeated_ones_change_no_output(tmp_path_factory, rows, copies):
    folder = tmp_path_factory.mktemp("rows")
    given_rows = [*rows, *(rows[i] for i in copies)]
    made = score(folder, given_rows, system="x")
    assert texts_of(made) == texts_of(score(folder, LONG, system="x"))
    shown = " ".join(made.manifest.data.notes)
    assert (f"{len(copies)} repeated and taken once" in shown) == bool(copies)


def test_what_cannot_be_used_is_counted_with_its_line(tmp_path):
    data = lines(tmp_path / "data.jsonl", [{"headline": h} for h, _, _ in PAIRS])
    rows = [
        WIDE[0],
        {**WIDE[1], "opportunity_counterfactual": " … "},
        {**WIDE[0], "risk_counterfactual": "Another risk"},
        {**WIDE[0], "headline": ""},
        {**WIDE[0], "headline": "A headline that is not in the data"},
        {**WIDE[0], "draw": "zero"},
        WIDE[0],
    ]
    made = score(tmp_path, rows, system="x", given={"data": data})
    assert [(one.line, one.reason.split(",")[0]) for one in made.recorded.left_out] == [
        (3, "line 1 has another output for the same item"),
        (4, "the headline is empty"),
        (5, made.recorded.left_out[2].reason),
        (6, "the draw is 'zero'"),
    ]
    assert "is not an item of the data" in made.recorded.left_out[2].reason
    shown = "\n".join(made.manifest.data.notes)
    for line in ("(line 3)", "(line 4)", "(line 5)", "(line 6)", "once (line 7)"):
        assert line in shown
    assert "x: 1 of 3 outputs are missing, counted as invalid" in shown
    (second,) = (o for k, o in made.recorded.systems["x"].outputs.items() if o["texts"]["risk"]
                 == PAIRS[1][1])  # fmt: skip
    assert second["invalid"] == {"opportunity": "the opportunity counterfactual is empty"}


def test_draws_counted_from_0_are_refused_and_not_left_out(tmp_path):
    data = lines(tmp_path / "data.jsonl", [{"headline": h} for h, _, _ in PAIRS])
    rows = [{**WIDE[0], "draw": 1}, {**WIDE[0], "draw": 0}]
    with pytest.raises(InputError, match="the draw is 0; count draws from 1") as refused:
        score(tmp_path, rows, system="x", given={"data": data})
    assert refused.value.line == 2


def test_items_without_outputs_are_left_out_on_request_only(tmp_path):
    data = lines(tmp_path / "data.jsonl", [{"headline": h} for h, _, _ in PAIRS])
    whole = score(tmp_path, WIDE[:2], given={"data": data})
    part = score(tmp_path, WIDE[:2], given={"data": data}, partial=True)
    assert (whole.samples, part.samples) == (3, 2)
    assert "1 items without any output left out (--partial)" in part.manifest.data.notes[0]
    assert whole.identity != part.identity
    with pytest.raises(InputError, match="--partial is not needed"):
        score(tmp_path, WIDE, given={"data": data}, partial=True)


@pytest.mark.parametrize("partial", [False, True])
def test_a_file_of_one_side_is_scored_on_that_side_and_says_so(
    quick_contrafact, service, tmp_path, partial
):
    rows = [f"Mill {n} lifts its dividend,risk,Mill {n} lenders tighten terms" for n in range(8)]
    (tmp_path / "risk.csv").write_text("\n".join(["headline,side,text", *rows]) + "\n")
    done = quick_contrafact(
        "score", "finforce", "risk.csv", "--judge", service.judge, "--fluency-model", "none",
        "--out", "run", *(["--partial"] if partial else []), env=service.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the file has no opportunity output: it is left out" in done.stdout + done.stderr
    figures = json.loads((tmp_path / "run" / "results.json").read_text())["figures"]
    found = {(one["scope"], one["measure"]): one for one in figures if one["form"] == "strict"}
    whole, side = (found[scope, "directionality"] for scope in ("overall", "risk"))
    assert whole["n"] == 8 and whole["estimate"] == side["estimate"]
    assert not any(one["scope"] == "opportunity" for one in figures)


def test_stories_are_found_by_id_text_query_or_the_row_itself(tmp_path):
    stories = json.loads((SAMPLES / "cobe" / "samples" / "stories.json").read_text())[:2]
    data = tmp_path / "stories.json"
    data.write_text(json.dumps(stories))
    identity = f"{stories[0]['Core Set ID']}v{stories[0]['Variation ID']}"
    named = (
        {"id": identity, "phrasing": "b"},
        {"id": f"{identity}-B"},
        {"story_id": identity, "query": stories[0]["Query"][1]},
        {"story": stories[0]["Variation text"], "phrasing": "B"},
        {**stories[0], "phrasing": "B"},
    )
    for row in named:
        made = score(
            tmp_path, [{**row, "response": "It held."}], "cobe", given={"data": data}, system="x"
        )
        assert [*made.recorded.systems["x"].outputs] == [(f"{identity}-B", 1)], row
    alone = score(tmp_path, [{**stories[0], "phrasing": "B", "response": "It held."}], "cobe")
    assert [one.id for one in alone.items] == [identity]
    with pytest.raises(InputError, match="with --data"):
        score(tmp_path, [{"id": identity, "phrasing": "B", "response": "x"}], "cobe")
    with pytest.raises(InputError, match=r"o\.jsonl:1: no phrasing is named"):
        score(tmp_path, [{"id": identity, "response": "x"}], "cobe", given={"data": data})


def test_a_label_that_says_two_things_is_none(tmp_path):
    first, *_ = items_of()
    row = {"id": first.id, "label": "true or false"}
    (found,) = labels_of_rows(tmp_path, "rfc-detect", [row]).values()
    assert (found["predicted"], found["invalid"]) == (None, "several labels: true, false")


# ---- through the command line


def table(folder):
    return pd.read_parquet(folder / "items.parquet")


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "more", "data"),
    [
        ("finforce", QUIET, None),
        ("cobe", (), "cobe/samples/stories.json"),
    ],
)
def test_a_runs_own_table_is_scored_to_the_same_table_and_judged_again(
    quick_contrafact, service, tmp_path, task, more, data
):
    def run(*words):
        result = quick_contrafact(*words, env=service.environment)
        assert result.returncode == 0, result.stderr
        return result

    judge = ("--judge", service.judge, "--limit", "2", *more)
    run("run", task, "--model", service.model, *judge, "--out", "run")
    answered = service.stats()["answered"]
    where = ("--data", str(SAMPLES / data)) if data else ()
    run("score", task, "run/items.parquet", *judge, *where, "--out", "scored")
    # What writing took is known where it was written.
    written = table(tmp_path / "run").drop(columns=["calls", "tokens", "dollars"], errors="ignore")
    pd.testing.assert_frame_equal(written, table(tmp_path / "scored"))
    # Every question but the judge's own was asked once: by the run.
    asked = service.stats()["answered"]
    repeated = {key for key, count in asked.items() if count > answered.get(key, 0)}
    assert asked.keys() == answered.keys()
    assert len(answered) - len(repeated) >= len(
        table(tmp_path / "run").drop_duplicates(["sample_id", "draw"])
    )

    before = contents(tmp_path / "run")
    run("score", "run", "--judge", "openai-api/fake/second", "--out", "again")
    last = service.stats()["answered"]
    assert last.keys() == answered.keys()
    assert {key for key, count in last.items() if count > asked[key]} == repeated
    assert contents(tmp_path / "run") == before
    again = table(tmp_path / "again")
    same = [name for name in written if name not in ("judge",)]
    pd.testing.assert_frame_equal(table(tmp_path / "run")[same], again[same])
    if task == "finforce":
        # What writing took stays with what was written, judged again and once more.
        costs = table(tmp_path / "run")[["calls", "tokens", "dollars"]]
        assert costs["calls"].eq(1).all() and costs["tokens"].gt(0).all()
        run("score", "again", "--judge", "openai-api/fake/third", *QUIET, "--out", "once-more")
        for name in ("again", "once-more"):
            pd.testing.assert_frame_equal(table(tmp_path / name)[costs.columns], costs)
        last = service.stats()["answered"]
    assert set(again["judge"].dropna()) == {"openai-api/fake/second"}
    verdicts = pd.read_parquet(tmp_path / "again" / "verdicts.parquet")
    assert set(verdicts["judge"]) == {service.judge, "openai-api/fake/second"}
    for criterion in verdicts["criterion"].unique():
        kept = again[f"{criterion} · {service.judge}"]
        expected = table(tmp_path / "run")[criterion]
        pd.testing.assert_series_equal(kept, expected, check_names=False)
    agreed = pd.read_csv(tmp_path / "again" / "agreement.csv")
    assert set(agreed["criterion"]) == set(verdicts["criterion"])
    # The server gives both judges the same verdicts.
    assert agreed.loc[agreed["coefficient"].eq("Agreement of pairs"), "estimate"].eq(1).all()
    assert "Agreement of the panel" in (tmp_path / "again" / "report.html").read_text()
    third = run("score", "run", "--judge", "openai-api/fake/second", "--out", "again")
    assert "no model was called" in third.stdout
    assert service.stats()["answered"] == last


@pytest.mark.slow
def test_inspect_scores_our_logs(quick_contrafact, quick_inspect, service, tmp_path):
    lines(tmp_path / "o.jsonl", WIDE)
    first = quick_contrafact("score", "finforce", "o.jsonl", *QUIET, "--out", "scored")
    assert first.returncode == 0, first.stderr
    (info,) = list_eval_logs(str(tmp_path / "scored" / "baseline-logs"))
    command = ("score", "scored", "--judge", service.judge, *QUIET, "--out", "again")
    again = quick_contrafact(*command, env=service.environment)
    assert again.returncode == 0, again.stderr
    assert table(tmp_path / "again")["directionality"].notna().all()
    done = quick_inspect(
        "score", info.name.removeprefix("file://"),
        "--scorer", "contrafact/counterfactuals", "--model-role", f"grader={service.judge}",
        "--action", "overwrite", "--output-file", str(tmp_path / "scored.eval"),
        env=service.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = read_eval_log(str(tmp_path / "scored.eval")).results.scores[0].metrics
    passed = table(tmp_path / "again")["directionality"].mean()
    assert metrics["directionality"].value == pytest.approx(passed)
    assert metrics["directionality_stderr"].value >= 0
    # A log that was judged says itself by what: no scorer is named.
    (judged,) = list_eval_logs(str(tmp_path / "again" / "baseline-logs"))
    done = quick_inspect(
        "score", judged.name.removeprefix("file://"),
        "--model-role", "grader=openai-api/fake/other", "--action", "append",
        "--output-file", str(tmp_path / "twice.eval"),
        env=service.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    twice = read_eval_log(str(tmp_path / "twice.eval"))
    named = {score.name for score in twice.results.scores}
    assert named == {"contrafact/counterfactuals", "counterfactuals"}
    assert twice.samples[0].scores.keys() == named
    # Without a judge, Inspect says so in one line.
    alone = quick_inspect(
        "eval", "contrafact/finforce", "--model", "none", "--limit", "1",
        "--log-dir", str(tmp_path / "logs"), env=service.environment,
    )  # fmt: skip
    assert "no judge is bound to the role 'grader'" in alone.stdout + alone.stderr
    assert "Traceback" not in alone.stdout + alone.stderr


def test_the_estimate_counts_what_would_be_judged_and_calls_nobody(
    quick_contrafact, service, tmp_path
):
    lines(tmp_path / "o.jsonl", WIDE)
    result = quick_contrafact(
        "score", "finforce", "o.jsonl", "--judge", service.judge, "--estimate",
        env=service.environment,
    )  # fmt: skip
    assert "12 calls, 12 of them paid" in result.stdout
    assert not service.stats()["answered"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.jsonl"]
