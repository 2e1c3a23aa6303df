"""``contrafact rfc check --judge``: judges over HTTP, each of a known behaviour."""

import json
import re
import time

import pytest
from tests.support.lines import read_lines, write_lines
from tests.support.made_exams import exam_with
from tests.support.pair_judge import FAULTS, MALFORMED, faulty, made_pairs

from contrafact.family.exam_file import write_exam

KINDS = ("flipping", "sentiment", "causal")
FAKE = "openai-api/fake/"


@pytest.fixture
def check(quick_contrafact, pair_judge, tmp_path):
    """Check made pairs by judges, and return the rows, standard error and the exit code."""

    def run(*judges, number=48, out="checks.jsonl", more=()):
        write_lines(tmp_path / "pairs.jsonl", made_pairs(number))
        command = ["rfc", "check", "pairs.jsonl", "--out", out, *more]
        command += [word for one in judges for word in ("--judge", f"{FAKE}{one}")]
        done = quick_contrafact(*command, env=pair_judge.environment)
        assert "Traceback" not in done.stderr
        text = (tmp_path / out).read_text(encoding="utf-8") if (tmp_path / out).exists() else ""
        return [json.loads(line) for line in text.splitlines()], done.stderr, done.returncode

    return run


def outcomes(rows):
    return [row["passed"] for row in rows]


def truth(number):
    return [one["manipulation"] == "numerical" or not faulty(place)
            for place, one in enumerate(made_pairs(number))]  # fmt: skip


def figures(shown, kind):
    """Return the figures of a kind in the summary."""
    line = next(line for line in shown.splitlines() if line.startswith(kind))
    return [int(word.replace(",", "")) for word in line.split()[1:6]]


def test_without_a_judge_meaning_is_undecided_and_that_is_said_once(check):
    rows, shown, code = check()
    assert code == 0
    assert [row["passed"] for row in rows] == [
        True if row["manipulation"] == "numerical" else None for row in rows
    ]
    assert shown.count("undecided: no fact contradicts them") == 1 and "36 pairs" in shown
    assert figures(shown, "causal") == [12, 0, 0, 12, 0]


def test_a_judge_that_knows_passes_the_sound_and_fails_the_faulty_with_its_words(check):
    rows, shown, code = check("labels")
    assert outcomes(rows) == truth(48) and code == 1
    assert "are undecided" not in shown
    for row, pair in zip(rows, made_pairs(48), strict=True):
        if row["passed"]:
            assert row["violations"] == []
            continue
        (found,) = row["violations"]
        assert found["rule"] == "meaning-" + FAULTS[row["manipulation"]].replace("_", "-")
        quoted = pair["rewritten"][slice(*found["rewritten_span"])]
        assert found["message"].endswith(f"says {FAKE}labels: '{quoted}'") and quoted
    assert figures(shown, "flipping") == [12, 9, 3, 0, 0]
    assert "meaning-reversed 3" in shown


@pytest.mark.parametrize(
    ("judge", "kinds_passed", "broken"),
    [
        ("passes", {"numerical", *KINDS}, 0),
        ("fails", {"numerical"}, 3),
    ],
)
def test_judges_that_say_the_same_of_everything_pass_and_fail_everything(
    check, judge, kinds_passed, broken
):
    rows, _, code = check(judge)
    assert outcomes(rows) == [row["manipulation"] in kinds_passed for row in rows]
    assert code == bool(broken) and {len(row["violations"]) for row in rows} == {0, broken}


@pytest.mark.parametrize("judge", ["invents", *(f"malformed-{n}" for n in range(len(MALFORMED)))])
def test_words_that_nobody_wrote_and_replies_that_nobody_can_read_decide_nothing(check, judge):
    rows, shown, code = check(judge, number=8)
    assert code == 0 and figures(shown, "flipping") == [2, 0, 0, 2, 2]
    for row in rows:
        if row["manipulation"] != "numerical":
            assert row["passed"] is None and row["violations"] == []
            reasons = [one["message"] for one in row["review"]
                       if one["rule"] == "meaning-undecided"]  # fmt: skip
            assert reasons and all(FAKE + judge in one for one in reasons)


def test_a_judge_right_on_three_kinds_only_is_wrong_on_the_fourth(check):
    rows, _, _ = check("partial")
    right = truth(48)
    for row, known in zip(rows, right, strict=True):
        assert row["passed"] is (False if row["manipulation"] == "causal" else known)


@pytest.mark.slow
def test_a_panel_decides_by_majority_and_a_tie_is_no_verdict(check):
    rows, _, _ = check("passes", "labels", "malformed-0", "fails")
    assert outcomes(rows) == truth(48)
    rows, shown, code = check("labels", "passes", out="two.jsonl")
    assert outcomes(rows) == [True if one else None for one in truth(48)] and code == 0
    assert figures(shown, "causal") == [12, 9, 0, 3, 3]
    tied = next(row for row in rows if row["passed"] is None)
    (why,) = [one["message"] for one in tied["review"] if one["rule"] == "meaning-undecided"]
    assert "no verdict on reversed: tie" in why


@pytest.mark.slow
def test_each_criterion_may_be_asked_alone_and_numerical_pairs_on_request(check, pair_judge):
    together, _, _ = check("labels")
    asked = sum(pair_judge.stats()["answered"].values())
    assert asked == 36
    alone, _, _ = check("labels", out="each.jsonl", more=["--each"])
    assert alone == together
    assert sum(pair_judge.stats()["answered"].values()) == asked + 3 * 36
    pair_judge.forget()
    rows, shown, code = check("fails", out="n.jsonl", more=["--numerical", "review"])
    assert sum(pair_judge.stats()["answered"].values()) == 48 and code == 1
    numerical = [row for row in rows if row["manipulation"] == "numerical"]
    assert all(row["passed"] and not row["violations"] for row in numerical)
    assert {one["rule"] for row in numerical for one in row["review"]} == {
        "meaning-plausible", "meaning-only-figures"
    }  # fmt: skip
    assert figures(shown, "numerical") == [12, 12, 0, 0, 0]


def test_a_judge_decides_numerical_pairs_only_where_its_exam_allows_it(check, tmp_path):
    decide, path = ["--numerical", "decide"], tmp_path / "exam.json"

    def exam(low, judge="fails"):
        """Return options with the exam of a judge, its rates on numbers bounded from below."""
        made = exam_with({"numerical": ((25, 25), (19, 19))}, judge=FAKE + judge)
        for rate in (
            made.criteria["numerical"].sensitivity,
            made.criteria["numerical"].specificity,
        ):
            vars(rate).update(low=low)
        write_exam(path, made)
        return [*decide, "--exam", str(path)]

    for given, why in (
        ((), "(no --exam)"),
        ((0.9, "other"), "(the exam is one of openai-api/fake/other"),
        ((0.5,), "sum to 1.00, and 1.20 is required"),
    ):
        rows, shown, code = check("fails", number=8, more=exam(*given) if given else decide)
        assert code == 2 and rows == [] and why in shown and len(shown.strip().splitlines()) == 1
    rows, _, code = check("fails", number=8, more=exam(0.9))
    numerical = [row for row in rows if row["manipulation"] == "numerical"]
    assert code == 1 and len(numerical) == 2
    for row in numerical:
        assert row["passed"] is False
        assert {one["rule"] for one in row["violations"]} == {
            "meaning-plausible", "meaning-only-figures"
        }  # fmt: skip


def test_a_pair_that_a_fact_fails_is_not_asked_about(quick_contrafact, pair_judge, tmp_path):
    pairs = made_pairs(4)
    for one in pairs:
        one["rewritten"] = one["rewritten"].replace("Steel", "Copper")
    (tmp_path / "p.json").write_text(json.dumps(pairs), encoding="utf-8")
    done = quick_contrafact("rfc", "check", "p.json", "--judge", FAKE + "passes",
                            env=pair_judge.environment)  # fmt: skip
    assert done.returncode == 1 and pair_judge.stats()["answered"] == {}
    assert not any(json.loads(line)["passed"] for line in done.stdout.splitlines())


@pytest.mark.slow
def test_repeated_it_asks_nothing_and_killed_it_goes_on(
    check, start_contrafact, start_pair_judge, tmp_path
):
    expected, _, _ = check("labels", number=400)
    with start_pair_judge("0.05") as slow:
        command = ["rfc", "check", "pairs.jsonl", "--out", "k.jsonl", "--judge", f"{FAKE}labels"]
        command += ["--max-connections", "2"]
        kept = tmp_path / "k.jsonl.answers.jsonl"
        with start_contrafact(*command, env=slow.environment) as begun:
            while not kept.exists() or kept.read_bytes().count(b"\n") < 20:
                assert begun.poll() is None
                time.sleep(0.02)
            begun.kill()
        assert not (tmp_path / "k.jsonl").exists()
        for _ in range(2):  # on it goes, and then there is nothing left to ask
            with start_contrafact(*command, env=slow.environment) as again:
                assert again.wait() == 1
            answered = slow.stats()["answered"]
            # What was under way when it was killed is asked again: two calls at most.
            assert len(answered) == 300 and sum(answered.values()) <= 302
    made = read_lines(tmp_path / "k.jsonl")
    assert made == expected


def test_calls_that_fail_leave_pairs_open_and_are_made_again(
    quick_contrafact, pair_judge, tmp_path
):
    pairs = made_pairs(12)
    for side in ("original", "rewritten"):
        pairs[2][side] += " It bought a doomed rival."  # the server never answers that
    (tmp_path / "p.json").write_text(json.dumps(pairs), encoding="utf-8")
    command = ["rfc", "check", "p.json", "--out", "c.jsonl", "--judge", FAKE + "passes"]
    for asked in (8, 0):
        pair_judge.forget()
        done = quick_contrafact(*command, "--max-retries", "0", env=pair_judge.environment)
        assert done.returncode == 1 and "1 call failed" in done.stderr
        assert len(pair_judge.stats()["answered"]) == asked
    rows = read_lines(tmp_path / "c.jsonl")
    assert [row["passed"] for row in rows].count(None) == 1
    assert "the call of a judge failed" in rows[2]["review"][-1]["message"]


@pytest.mark.parametrize(
    ("more", "calls"), [([], 120), (["--numerical", "review"], 160), (["--each"], 360)]
)
def test_an_estimate_counts_a_call_a_pair_and_judge_and_makes_none(
    quick_contrafact, pair_judge, tmp_path, more, calls
):
    (tmp_path / "p.json").write_text(json.dumps(made_pairs(80)), encoding="utf-8")
    command = ["rfc", "check", "p.json", "--estimate", "--judge", FAKE + "a", "--judge", FAKE + "b"]
    done = quick_contrafact(*command, *more, env=pair_judge.environment)
    assert done.returncode == 0, done.stderr
    assert re.search(rf"\b{calls:,} calls", done.stdout), done.stdout
    assert pair_judge.stats()["answered"] == {}


@pytest.mark.slow
def test_facts_are_worked_out_before_the_first_call_only_where_many_may_be_asked_about(check):
    _, shown, code = check("passes", number=48)
    assert code == 0 and "facts:" not in shown and "pairs: 48/48" in shown
    _, shown, code = check("passes", number=1_100, more=["--max-connections", "64"])
    assert code == 0 and "facts: 1100/1100" in shown and "pairs: 1100/1100" in shown


def test_options_of_judges_need_one(check):
    for option in (["--each"], ["--exam", "x.json"], ["--estimate"], ["--no-structured"]):
        rows, shown, code = check(more=option)
        assert code == 2 and rows == [] and f"{option[0]} has no effect without --judge" in shown
        assert len(shown.strip().splitlines()) == 1


def test_labels_that_are_none_are_named_before_a_judge_is_asked(check, pair_judge, tmp_path):
    for said, why in (
        ("p0,maybe", "labels.csv:2: sound is 'maybe'"),
        ("x,true", "labels.csv:2: 'x' is not the id of a pair"),
        ("", "labels.csv: there is no label"),
    ):
        (tmp_path / "labels.csv").write_text(f"id,sound\n{said}\n", encoding="utf-8")
        _, shown, code = check("labels", number=8, more=["--labels", "labels.csv"])
        assert code == 2 and why in shown and len(shown.strip().splitlines()) == 1
    assert pair_judge.stats()["answered"] == {}


@pytest.mark.parametrize("by", ["exam", "labels"])
@pytest.mark.slow
def test_an_exam_or_labels_say_how_many_are_really_sound(check, tmp_path, by):
    # Right on nine criteria in ten: a sound pair passes by .9 ** 3, one fault by .1 * .9 ** 2.
    exam = exam_with(dict.fromkeys(KINDS, ((292, 400), (368, 400))), judge=FAKE + "noisy-1")
    write_exam(tmp_path / "exam", exam)
    said = "".join(
        f"{one['id']},{sound}\n"
        for one, sound in zip(made_pairs(800), truth(800), strict=True)
        if int(one["id"].strip("p")) % 7 == 0
    )
    (tmp_path / "labels").write_text(f"id,sound\n{said}", encoding="utf-8")
    rows, shown, _ = check("noisy-1", number=800, more=[f"--{by}", str(tmp_path / by)])
    name = {"exam": "the judge's exam", "labels": "labels"}[by]
    table = shown[shown.index(f"really sound, by {name} (95% intervals)") :]
    sound = [row for row, one in zip(rows, truth(800), strict=True) if one]
    passed = [row for row in rows if row["passed"]]
    found = {}
    for line in table.splitlines():
        if figures := re.match(r"(\w+) +(\d+) +(\d+) +(\d+)(?: \((\d+) to (\d+)\))?", line):
            found[figures[1]] = [int(one or 0) for one in figures.groups()[1:]]
    assert list(found) == ["numerical", *KINDS, "all"]
    assert found["numerical"][:3] == [200, 200, 200]
    for kind, (pairs, passes, estimate, low, high) in found.items():
        if kind == "numerical":
            continue
        known = sum(row["manipulation"] == kind or kind == "all" for row in sound)
        assert passes == sum(row["manipulation"] == kind or kind == "all" for row in passed)
        assert low <= known <= high and low <= estimate <= high and passes < estimate < pairs


def test_an_exam_of_another_judge_or_with_other_prompts_gives_no_figure(check, tmp_path):
    path = tmp_path / "exam.json"
    for exam, why in (
        (exam_with({}, judge="x/y"), "the exam is one of x/y"),
        (
            exam_with({}, judge=FAKE + "passes", templates={"rfc/judge-causal": "0"}),
            "the exam asked with other prompts",
        ),
        (exam_with({}, judge=FAKE + "passes"), "no verdicts on whole flipping pairs"),
    ):
        write_exam(path, exam)
        _, shown, code = check("passes", number=8, more=["--exam", str(path)])
        table = " ".join(shown[shown.index("really sound, by") :].split())
        assert code == 0 and why.split()[0] in table
        assert "not known" in table and not re.search(r"\d to \d", table)
    write_exam(path, exam_with({}).model_copy(update={"family": "cobe"}))
    _, shown, code = check("passes", number=8, more=["--exam", str(path)])
    assert code == 2 and "is an exam in cobe, not in rfc" in shown


@pytest.mark.slow
def test_the_embedded_model_answers_by_the_schema_and_what_it_quotes_is_held_to_the_texts(
    contrafact, tmp_path
):
    pair = made_pairs(1)[0]
    (tmp_path / "p.json").write_text(json.dumps([pair]), encoding="utf-8")
    command = ["rfc", "check", "p.json", "--out", "c.jsonl", "--judge", "embedded/smollm2-135m"]
    done = contrafact(*command, "--max-connections", "1")
    row = json.loads((tmp_path / "c.jsonl").read_text())
    assert done.returncode == (row["passed"] is False), done.stderr
    _, kept = (tmp_path / "c.jsonl.answers.jsonl").read_text().splitlines()
    output = json.loads(json.loads(kept)["answer"])
    reply = json.loads(output["choices"][0]["message"]["content"])
    assert [*reply] == ["reversed", "coherent", "nothing_added"]
    for one in reply.values():
        assert isinstance(one["value"], bool) and isinstance(one["words"], str)
    for found in row["violations"]:
        assert found["original_span"] or found["rewritten_span"]
