"""Levels 4 and 5: proven, of the structure that they ask for, and the same from one seed."""

import re
from collections import Counter

import pytest

from contrafact.causal.counterfactual import consequences
from contrafact.errors import InputError
from contrafact.families.cobe.stories import LEVELS, Difficulty
from contrafact.families.cobe.synth.compose import cells_of, compose, draw_fitting
from contrafact.families.cobe.synth.difficulty import TRAPS, level_named
from contrafact.families.cobe.synth.library import bundled_library
from contrafact.families.cobe.synth.prove import check_story, situation_of

HARD = (4, 5)


@pytest.fixture(scope="module")
def drawn():
    return {level: list(compose(56, 7, difficulty=LEVELS[level])) for level in HARD}


@pytest.mark.parametrize("level", HARD)
def test_stories_of_a_level_are_proven_and_as_it_asks(drawn, level):
    rows, wanted = drawn[level], LEVELS[level]
    assert len({row["Variation text"] for row in rows}) == 56
    for row in rows:
        assert check_story(row) == []
        assert wanted.fits(row)
        assert len({*row["Proof"]["traps"]} & {*wanted.traps}) >= wanted.least_traps >= 1
        assert wanted.facts[0] <= len(row["Proof"]["told"]) <= wanted.facts[1]
    assert list(compose(12, 7, difficulty=wanted)) == rows[:12]


def test_every_trap_is_drawn_at_every_level(drawn):
    for rows in drawn.values():
        held = Counter(trap for row in rows for trap in row["Proof"]["traps"])
        assert set(held) == set(TRAPS)


def test_traps_hold_by_the_model_of_the_file(drawn):
    """The draw names them by masks of worlds; here the causal model says what they claim."""
    seen = Counter()
    for row in (row for rows in drawn.values() for row in rows):
        facts = situation_of(row)
        model, told, supposed = facts.model, facts.proof.facts, facts.proof.intervention
        stays = {one.variable for one in facts.proof.consequences if one.kind == "stays"}
        after = {one.variable: one.after for one in facts.proof.consequences}
        effects = {name for name in stays & {*told} if model.graph.parents[name]}
        alone = [consequences(model, told, {n: v}).consequences for n, v in supposed.items()]
        undone = len(supposed) > 1 and any(
            one.kind == "changes" and one.variable in effects - {"q"}
            for each in alone
            for one in each
        )
        stands = any(
            not value
            and model.graph.parents[name]
            and consequences(
                model,
                told,
                {n: v for n, v in {**after, **supposed}.items() if n in told and n != name},
            )
            .of(name)
            .after
            for name, value in supposed.items()
        )
        shared = [
            {n for n in told if noise.name in model.mechanism(n).noise} for noise in model.noises
        ]
        together = any(
            len(pair) == 2 and len(pair & {*supposed}) == 1 and pair - {*supposed} <= stays
            for pair in shared
        )
        above = model.graph.ancestors(["q"]) if "q" in told else frozenset()
        still = "q" in stays and not above.isdisjoint(supposed)
        decided = {"undone": undone, "stands": stands, "together": together, "number stays": still}
        for trap, holds in decided.items():
            assert (trap in row["Proof"]["traps"]) == holds, (trap, row["Variation text"])
            seen[trap] += holds
    assert min(seen[trap] for trap in ("undone", "stands", "together", "number stays")) > 0


def test_rules_stand_before_and_after_the_facts_from_level_5(drawn):
    for level, rows in drawn.items():
        late = 0
        for row in rows:
            text = row["Variation text"]
            clauses = [
                words["clauses"][0]
                for name, forms in row["Proof"]["wordings"].items()
                if name in row["Proof"]["told"] and "amounts" not in forms
                for words in (forms["true"], forms["false"])
            ]
            lowered = text.lower()
            last = max(lowered.find(clause.lower()) for clause in clauses)
            rules = [text.find(one["says"]) for one in row["Proof"]["relations"]]
            late += any(place > last for place in rules)
        assert (late == 56) if level > 4 else (late == 0)


def test_a_number_stays_in_some_stories_and_is_kept_in_no_answer_where_it_moves(drawn):
    stays = moves = 0
    for row in (row for rows in drawn.values() for row in rows):
        if "q" not in row["Proof"]["facts"]:
            continue
        figure = f"{row['Proof']['facts']['q']:,}"
        kept = [
            figure in re.findall(r"\d+(?:,\d{3})*", answer["text"])
            for answer in row["Right answers"] + row["Wrong answers"]
        ]
        if row["Proof"]["consequences"]["q"]["kind"] == "stays":
            stays += 1
            assert all(kept[:2])
            assert figure in row["Evaluation criteria"][0]
        else:
            moves += 1
            assert not any(kept)
    assert stays > 20
    assert moves > 20


def test_wrong_answers_are_named_by_their_mistakes(drawn):
    names = Counter()
    for row in (row for rows in drawn.values() for row in rows):
        for answer in row["Wrong answers"]:
            assert ("mistakes" in answer) == (answer["verdicts"]["E3"])
            names.update(answer.get("mistakes", ()))
    assert min(names[name] for name in ("backtracks", "stops short", "spills over")) > 20


@pytest.mark.parametrize("told", [True, False])
def test_whether_a_cause_is_told_can_be_asked_for(told):
    wanted = Difficulty(cause_told=told)
    for row in compose(8, 3, difficulty=wanted):
        graph, supposed = row["Proof"]["graph"], row["Proof"]["intervention"]
        causes = {cause for name in supposed for cause in graph[name]} & {*row["Proof"]["told"]}
        assert bool(causes - supposed.keys()) == told
        assert wanted.fits(row)


def test_a_level_that_is_none_is_one_line():
    with pytest.raises(InputError, match="difficulty 6 is no level"):
        level_named(6)
    with pytest.raises(InputError, match="no graph of type 'chain'"):
        next(compose(4, 1, graph="chain", difficulty=LEVELS[5]))


@pytest.mark.slow
@pytest.mark.parametrize("level", range(4))
def test_every_domain_and_graph_has_stories_of_a_level(level):
    """One without any would end a long draw in the middle."""
    library, wanted = bundled_library(), LEVELS[level]
    for cell in cells_of(library):
        if cell.graph in wanted.graphs:
            rows = draw_fitting(library, [cell], wanted, seed=5, index=0)
            assert all(map(wanted.fits, rows))
