"""A manager's figures: true to the state, equal to what `contrafact agree` prints, and drawn."""

import json
import math
from datetime import timedelta

import pytest

from contrafact.review.assignment import answer_training, assign
from contrafact.review.figures.agreement import agreement_figures, rated_questions
from contrafact.review.figures.audits import audits, training
from contrafact.review.figures.panels import panels_of
from contrafact.review.figures.plots import draw_plot
from contrafact.review.figures.progress import review_progress, throughput
from contrafact.review.state import snapshot
from contrafact.review.store.store import Store
from contrafact.review.workflow import answer, set_stage_open, undo


class Office:
    """People who answer what they are given, a minute each, and the events of it."""

    def __init__(self, team, name="rfc-rewrite", items=8, **options):
        self.team, self.now, self.rng = team, team.now, team.rng(3)
        self.state = team.state(name, items, **options)
        self.events = []

    def take(self, who):
        given, made = assign(self.state, who, self.now, self.rng)
        self.events += made
        return given

    def say(self, who, answers, seconds=60, **options):
        given = self.take(who)
        self.now += timedelta(seconds=seconds)
        where = (given.item, given.stage, given.round)
        shown = answers(given.item) if callable(answers) else answers
        self.events += answer(self.state, who, *where, shown, now=self.now, rng=self.rng, **options)
        return given


@pytest.fixture
def office(review_team):
    return lambda *arguments, **options: Office(review_team, *arguments, **options)


PASS = {"category_correct": "true", "rewrite_valid": "pass"}
FAIL = {"category_correct": "true", "rewrite_valid": "fail"}


def annotated(office):
    """Eight rewrites; all but one that Dia fails are passed by everybody."""
    made = office(items=8)
    for _ in range(8):
        made.say("Ada", {"review": "pass"})
    while made.take("Ben") is not None:
        made.say("Ben", {"audit": "pass"})
    for _ in range(8):
        made.say("Cem", PASS)
        made.say("Dia", lambda item: FAIL if item == "i5" else PASS)
    return made


def test_progress_counts_every_item_once_and_every_open_decision(office):
    made = office(items=8)
    for _ in range(3):
        made.say("Ada", {"review": "pass"})
    made.take("Ada")
    found = review_progress(made.state, made.now)
    at = {stage.stage: stage for stage in found.stages}
    assert (found.items, found.ended, found.places) == (8, 0, 5)
    assert (at["expert-review"].items, at["audit"].items) == (5, 3)
    assert (at["expert-review"].held, at["expert-review"].votes) == (1, 3)
    assert (at["audit"].waiting, at["audit"].forced) == (3, 3)
    assert sum(stage.items for stage in found.stages) == 8
    assert dict(found.by_category) == dict.fromkeys(
        ("flipping", "numerical", "sentiment", "causal"), 2
    )
    assert dict(found.by_role) == {"expert-a": 5}
    late = review_progress(made.state, made.now + timedelta(hours=1))
    assert {s.stage: s.held for s in late.stages}["expert-review"] == 0


def test_progress_tells_outcomes_by_category_and_closed_stages(office):
    made = annotated(office)
    set_stage_open(made.state, "annotation", False, "Max", made.now)
    found = review_progress(made.state, made.now)
    assert found.ended == 7 and found.share == 7 / 8
    # i5 is of the second category; its annotators disagree.
    assert dict(found.outcomes["final"]) == {
        "flipping": 2, "numerical": 1, "sentiment": 2, "causal": 2
    }  # fmt: skip
    assert [stage.stage for stage in found.stages if stage.closed] == ["annotation"]
    assert [stage.stage for stage in found.stages if stage.items] == ["secondary-review"]


def test_pace_leaves_pauses_out_and_counts_what_stands(office):
    made = office("cobe-rating", items=5)
    for seconds in (30, 60, 90):
        made.say("Cem", {"rating": "Yes"}, seconds)
    made.now += timedelta(hours=3)
    made.say("Cem", {"rating": "No"}, 60)
    made.events += undo(made.state, "Cem", made.now)
    (cem,) = throughput(made.events)
    # Three decisions stand. The last one's minute was work as well, the three hours were not.
    assert (cem.person, cem.decisions) == ("Cem", 3)
    assert cem.hours == pytest.approx((30 + 60 + 90 + 60) / 3600)
    assert cem.per_hour == pytest.approx(3 / cem.hours)
    assert cem.seconds == 60
    assert len(cem.times) == 3
    assert throughput([]) == []


def test_a_decision_over_a_pause_is_no_measure_of_how_long_one_takes(office):
    made = office("cobe-rating", items=3)
    made.say("Cem", {"rating": "Yes"}, 1500)
    (cem,) = throughput(made.events)
    assert cem.decisions == 1 and math.isnan(cem.seconds) and math.isnan(cem.per_hour)


def test_audits_have_rates_per_category_and_what_came_of_the_batch(office):
    made = office(items=8)
    for _ in range(8):
        made.say("Ada", {"review": "pass"})
    made.say("Ben", {"audit": "fail"}, comment="wrong")
    (under_way,) = audits(made.state)
    assert (under_way.size, under_way.drawn, under_way.judged, under_way.result) == (8, 4, 1, None)
    while made.take("Ben") is not None:
        made.say("Ben", {"audit": "pass"})
    (done,) = audits(made.state)
    assert done.result == "returned" and done.floor == 0.8 and done.floor_of == "stratum"
    overall = done.rows[-1]
    assert (overall.stratum, overall.size, overall.sample, overall.passed) == ("overall", 8, 4, 3)
    assert overall.rate == 0.75
    assert math.isnan(overall.low), "four items are too few for an interval"
    assert sum(row.sample for row in done.rows[:-1]) == 4


def test_an_audit_of_many_has_intervals(office):
    made = office(items=240)
    for _ in range(240):
        made.say("Ada", {"review": "pass"})
    while made.take("Ben") is not None:
        made.say("Ben", {"audit": "pass"})
    overall = audits(made.state)[0].rows[-1]
    assert overall.sample == 30 and overall.passed == 30
    assert 0.8 < overall.low < 1.0 == overall.high


def test_training_is_reported_round_by_round(office):
    made = office("judge-agreement", items=1, trained=False)
    right = {"forward_compatibility": "true", "directionality": "true"}
    wrong = {"forward_compatibility": "true", "directionality": "false"}
    for message in (right, right, wrong, right):
        given = made.take("Cem")
        answer_training(
            made.state, "Cem", given.item, given.stage, given.round, message, now=made.now
        )
        made.take("Cem")
    first, second = training(made.state)
    assert (first.person, first.round, first.answered, first.right) == ("Cem", 1, 3, 2)
    assert first.accuracy == pytest.approx(2 / 3) and first.passed is False
    assert (second.round, second.answered, second.items, second.passed) == (2, 1, 3, None)
    assert second.threshold == 0.95


def test_agreement_waits_for_two_people(office):
    made = office("cobe-rating", items=3)
    assert "fewer than two" in agreement_figures(made.state, "rating").why
    made.say("Cem", {"rating": "Yes"})
    made.say("Dia", {"rating": "Yes"})
    found = agreement_figures(made.state, "rating")
    assert found.found is not None and found.found.ratings == 2


def test_what_agreement_can_be_about(review_team):
    assert rated_questions(review_team.state("cobe-rating"), "rating") == (None,)
    assert rated_questions(review_team.state(), "annotation") == (
        None,
        "category_correct",
        "rewrite_valid",
    )


def test_the_matrix_tells_who_says_what_where_another_says_what(office):
    made = annotated(office)
    matrix = agreement_figures(made.state, "annotation").matrix
    assert matrix.categories == ("fail", "pass") and matrix.raters == ("Cem", "Dia")
    # Rows are Cem's, columns Dia's: once he passes what she fails.
    assert matrix.shown.tolist() == [[0, 0], [1, 7]]
    assert matrix.counts.tolist() == [[0, 1], [1, 7]]


def test_three_raters_have_a_matrix_of_pairs(office):
    made = office("cobe-rating", items=2)
    for who, message in (("Cem", "Yes"), ("Dia", "Yes"), ("Eve", "No")):
        for _ in range(2):
            made.say(who, {"rating": message})
    matrix = agreement_figures(made.state, "rating").matrix
    assert matrix.raters == () and matrix.categories == ("No", "Yes")
    # Of each item's three pairs one agrees on Yes and two differ.
    assert matrix.shown.tolist() == [[0, 4], [4, 2]]


def test_a_snapshot_stays_as_it_is(office):
    made = office("cobe-rating", items=2)
    made.say("Cem", {"rating": "Yes"})
    before = snapshot(made.state)
    seen = review_progress(before, made.now)
    made.say("Cem", {"rating": "Yes"})
    made.say("Dia", {"rating": "Yes"})
    assert review_progress(before, made.now) == seen
    assert before.items["i0"].votes != made.state.items["i0"].votes
    assert review_progress(snapshot(made.state), made.now) == review_progress(made.state, made.now)


def test_every_panel_has_words_a_table_and_a_plot(office):
    made = annotated(office)
    panels = {one.key: one for one in panels_of(made.state, made.events, made.now)}
    assert set(panels) == {
        "progress",
        "pace",
        "audits",
        "residual",
        *(f"{kind}-annotation.{q}" for kind in ("agreement", "matrix")
          for q in ("verdict", "category_correct", "rewrite_valid")),
        "agreement-re-annotation.verdict",
    }  # fmt: skip
    assert "Of 8 items 7 have ended (87.5%)" in panels["progress"].description
    assert "differ on an item: fail and pass: 1." in panels["matrix-annotation.verdict"].description
    for panel in panels.values():
        assert all(len(row) == len(panel.columns) for row in panel.rows)
        if panel.key.startswith("agreement-re-annotation"):
            assert panel.draw is None and "None yet" in panel.description
            continue
        if panel.key == "residual":
            assert panel.draw is None and panel.rows[0][0] == "final items"
            assert panel.description.startswith(f"{panel.rows[0][2]}: ")
            continue
        svg = draw_plot(panel.draw, "svg", height=panel.height)
        assert svg.startswith(b"<?xml") and b"</svg>" in svg
    key = "agreement-annotation.verdict"
    assert draw_plot(panels[key].draw, "png", height=3.0).startswith(b"\x89PNG")
    again = [draw_plot(panels[key].draw, "svg", height=3.0) for _ in range(2)]
    assert again[0] == again[1]


def test_names_are_drawn_as_they_are_and_never_as_formulas(review_team):
    state = review_team.state("cobe-rating", items=1)
    made = Office(review_team, "cobe-rating", items=1)
    made.state = state
    from contrafact.review.setup import set_roles

    name = r"$\frac{1}{0}$ <script> " + "x" * 100
    set_roles(state, name, ["rater"], "Max", made.now)
    made.say(name, {"rating": "Yes"})
    (panel,) = (p for p in panels_of(state, made.events, made.now) if p.key == "pace")
    assert draw_plot(panel.draw, "svg", height=3.0)
    assert panel.rows[0][0] == name


def test_the_managers_figures_are_those_that_agree_prints(quick_contrafact, review_team, tmp_path):
    database = tmp_path / "review.db"
    from contrafact.review.project import load_project

    with Store(str(database), seed=4) as store:
        store.define("review", load_project("cobe-rating"), "Max")
        for name in ("Cem", "Dia", "Eve"):
            store.set_roles("review", name, ["rater"], "Max")
        store.import_items("review", {f"i{n}": review_team.item(n) for n in range(40)}, "Max")
        rng = review_team.rng(8)
        for who in ("Dia", "Cem", "Eve"):
            while given := store.next("review", who):
                message = str(rng.choice(["Yes", "No", "Other"], p=[0.6, 0.3, 0.1]))
                store.answer("review", who, given, {"rating": message}, comment="so it seems")
        figures = store.read("review", lambda state: agreement_figures(state, "rating"))
        panels = store.read("review", lambda state: panels_of(state, [], review_team.now))
    (panel,) = (p for p in panels if p.key == "agreement-rating.verdict")
    for suffix in ("csv", "parquet"):
        ratings = f"ratings.{suffix}"
        export = ("review", "export", "--what", "ratings", "--out", ratings)
        assert quick_contrafact(*export).returncode == 0
        run = quick_contrafact("agree", ratings, "--out", f"{suffix}.json")
        assert run.returncode == 0, run.stderr
        shown = json.loads((tmp_path / f"{suffix}.json").read_text())
        ours = [
            [one.name, list(one.raters), *map(_plain, (one.estimate, one.low, one.high)), one.n]
            for one in figures.found.coefficients
        ]
        theirs = [
            [c["name"], c["raters"], c["estimate"], c["low"], c["high"], c["n"]]
            for c in shown["coefficients"]
        ]
        assert ours == theirs
    printed = [" ".join(line.replace("│", " ").split()) for line in run.stdout.splitlines()]
    assert len(panel.rows) == len(figures.found.coefficients)
    for row in panel.rows:
        assert " ".join(row) in " ".join(printed), row
    last = figures.growth[-1]
    assert last.items == 40
    for name, figure in (("percent", "percent"), ("gwet_ac1", "ac1")):
        (one,) = (c for c in figures.found.coefficients if c.name == name and len(c.raters) == 3)
        assert (one.estimate, one.low, one.high) == (
            getattr(last, figure),
            getattr(last, f"{figure}_low"),
            getattr(last, f"{figure}_high"),
        )


def _plain(value):
    return None if math.isnan(value) else value
