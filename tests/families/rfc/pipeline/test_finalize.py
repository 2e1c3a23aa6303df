"""From people's decisions to the dataset: the paper's handling, step by step."""

import json

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from contrafact.errors import InputError
from contrafact.families.rfc.decisions import (
    ALLOWED,
    ReviewDecision,
    follow,
    load_decisions,
    published_schema,
)
from contrafact.families.rfc.pipeline.finalize import (
    HARD,
    REVIEW,
    Standing,
    audit_table,
    finalize,
    retention_table,
)
from contrafact.families.rfc.records import Rewrite
from contrafact.stages.stage import KEPT, REJECTS, InputRow


def decided(stage, decision, who="ann", when="2026-01-01T10:00:00Z", item="p1", **more):
    if decision == "revise":
        more.setdefault("rewritten", "Brackwater lost 9%.")
    return ReviewDecision(
        item_id=item, stage=stage, decided_by=who, decision=decision, when=when, **more
    )


def both(stage, first, second=None):
    return [decided(stage, first, "ann"), decided(stage, second or first, "ben")]


PASSED = both("annotation", "pass")
FAILED = both("annotation", "fail")
SPLIT = both("annotation", "pass", "fail")
UNRESOLVED = [*SPLIT, decided("secondary-review", "unresolved")]
REVISED = [*FAILED, decided("revision", "revise")]
LATER = decided("annotation", "pass", "ann", "2026-01-02T10:00:00+01:00")


@pytest.mark.parametrize(
    ("decisions", "state", "why"),
    [
        ([], "unreviewed", "0 of 2"),
        ([decided("annotation", "pass")], "unreviewed", "1 of 2"),
        ([decided("annotation", "fail")], "hard case", "too few"),
        (PASSED, "retained", "passed by all"),
        (FAILED, "removed", "not revised"),
        (both("annotation", "mis-category"), "removed", "wrong category"),
        ([*FAILED, decided("revision", "remove", why="beyond repair")], "removed", "beyond repair"),
        ([*FAILED, LATER], "hard case", "nobody has adjudicated"),
        ([*REVISED, *both("re-annotation", "pass")], "retained", "when revised"),
        ([*REVISED, *both("re-annotation", "fail")], "removed", "revised or not"),
        (REVISED, "hard case", "0 of 2"),
        ([*REVISED, *both("re-annotation", "pass", "fail")], "hard case", "on the revision"),
        (SPLIT, "hard case", "nobody has adjudicated"),
        ([*SPLIT, decided("secondary-review", "pass")], "retained", "secondary review"),
        ([*SPLIT, decided("secondary-review", "fail", why="a new name")], "removed", "a new name"),
        (UNRESOLVED, "hard case", "not resolved"),
        ([*SPLIT, *both("secondary-review", "pass", "fail")], "hard case", "not resolved"),
        ([*UNRESOLVED, decided("arbitration", "pass")], "retained", "arbitration"),
        ([*UNRESOLVED, decided("arbitration", "fail")], "removed", "arbitration"),
        ([*UNRESOLVED, decided("arbitration", "unresolved")], "hard case", "arbitration"),
        ([decided("expert-review", "remove", why="accuses"), *PASSED], "removed", "accuses"),
        ([decided("expert-review", "pass"), *PASSED], "retained", "passed by all"),
        ([*PASSED, decided("audit", "fail", "eve")], "hard case", "disagree"),
        ([*PASSED, decided("audit", "pass", "eve")], "retained", "passed by all"),
    ],
)
def test_decisions_lead_where_the_paper_says(decisions, state, why):
    fate = follow(decisions)
    assert fate.state == state
    assert why in fate.why
    assert follow(decisions[::-1]) == fate


@given(
    st.lists(
        st.sampled_from([(s, d) for s, answers in ALLOWED.items() for d in answers]), max_size=8
    ),
    st.randoms(),
)
def test_every_history_has_an_end_that_does_not_depend_on_the_order_of_lines(history, random):
    decisions = [
        decided(stage, decision, who=f"p{place % 3}", when=f"2026-01-01T10:{place:02}:00Z")
        for place, (stage, decision) in enumerate(history)
    ]
    fate = follow(decisions)
    shuffled = list(decisions)
    random.shuffle(shuffled)
    assert follow(shuffled) == fate
    assert fate.why
    assert fate.by.startswith(("person:", "rule:"))
    if fate.rewritten is not None:
        assert any(decision.decision == "revise" for decision in decisions)


def pair(n, manipulation="flipping", **more):
    made = Rewrite.of(
        manipulation,
        f"Brackwater Ferries gained {n}%.",
        f"Brackwater Ferries lost {n}%.",
        article_id=f"n{n}",
    )
    return InputRow(n - 1, {**made.model_dump(), **more})


def clean(_):
    return Standing()


def breaks(*rules):
    return lambda _: Standing(rules)


def test_pairs_end_as_final_hard_or_dropped_with_their_reasons():
    rows = [pair(1), pair(2), pair(3), pair(4)]
    ids = [row.fields["id"] for row in rows]
    decisions = [
        *(decided("annotation", "pass", who, item=ids[0]) for who in ("ann", "ben")),
        *(decided("annotation", v, w, item=ids[1]) for w, v in (("ann", "pass"), ("ben", "fail"))),
        *(decided("annotation", "fail", who, item=ids[2]) for who in ("ann", "ben")),
    ]
    result = finalize(rows, decisions, contract=clean)
    assert [row["id"] for row in result.table(KEPT)] == [ids[0]]
    assert [row["id"] for row in result.table(HARD)] == [ids[1]]
    assert [row["id"] for row in result.table(REJECTS)] == [ids[2], ids[3]]
    assert "not reviewed" in result.table(REJECTS)[1]["reason"]
    people = [event for _, event in result.events if event.by.startswith("person:")]
    assert {event.stage for event in people} >= {"annotation", "finalize"}
    final = {e.item_id: e.decision for _, e in result.events if e.stage == "finalize"}
    assert final == dict(zip(ids, ("kept", "hard case", "dropped", "dropped"), strict=True))
    kept = finalize(rows, decisions, contract=clean, unreviewed="keep")
    assert kept.table(KEPT)[-1]["review"] == "unreviewed"


def test_a_revision_changes_text_and_id_and_drops_the_stale_edit_log():
    row = pair(1, edits=[{"start": 0, "end": 1, "before": "B", "after": "C", "why": "x"}])
    name = row.fields["id"]
    decisions = [
        decided("expert-review", "revise", "eve", item=name),
        *(decided("annotation", "pass", who, item=name) for who in ("ann", "ben")),
    ]
    (final,) = finalize([row], decisions, contract=clean).table(KEPT)
    assert final["rewritten"] == "Brackwater lost 9%."
    assert final["reviewed_id"] == name != final["id"]
    assert final["edits"] == []
    assert (
        final["id"]
        == Rewrite.of("flipping", final["original"], final["rewritten"], article_id="n").id
    )


def test_what_annotators_alone_pass_and_the_contract_fails_is_a_hard_case():
    row = pair(1)
    decisions = [
        decided("annotation", "pass", who, item=row.fields["id"]) for who in ("ann", "ben")
    ]
    result = finalize([row], decisions, contract=breaks("number-changed"))
    assert result.table(KEPT) == []
    assert "breaks number-changed" in result.table(HARD)[0]["reason"]
    unseen = finalize([row], [], contract=breaks("number-changed"), unreviewed="keep")
    assert unseen.table(REJECTS)[0]["reason"] == "breaks number-changed", (
        "nothing about it is in doubt"
    )
    result = finalize([row], decisions, contract=clean, required=("url",))
    assert result.table(REJECTS)[0]["reason"] == "lacks url"


@pytest.mark.parametrize(
    ("more", "who"),
    [
        ([decided("expert-review", "revise", "eve", why="the figures were the wrong way")], "eve"),
        ([decided("expert-review", "pass", "eve", why="the figures were the wrong way")], "eve"),
        ([decided("audit", "pass", "bea", why="the figures were the wrong way")], "bea"),
    ],
)
def test_an_experts_decision_stands_against_a_rule_with_both_reasons(more, who):
    row = pair(1)
    own = [d.model_copy(update={"item_id": row.fields["id"]}) for d in [*more, *PASSED]]
    found = ["number-changed ('3.2' became '4.2')"]
    (kept,) = finalize([row], own, contract=breaks(*found)).table(KEPT)
    assert kept["against_rules"] == found
    assert kept["review"].endswith(
        f"against number-changed ('3.2' became '4.2'); {who}: the figures were the wrong way"
    )
    (sound,) = finalize([row], own, contract=clean).table(KEPT)
    assert "against_rules" not in sound


def test_only_those_who_ruled_on_the_final_text_stand_against_a_rule():
    revised = decided("revision", "revise", "eve", when="2026-01-02T10:00:00Z")
    again = both("re-annotation", "pass")
    assert follow([decided("expert-review", "pass"), *FAILED, revised, *again]).experts == (
        revised,
    )
    assert follow(PASSED).experts == ()
    ruling = decided("arbitration", "pass", "ada")
    assert follow([*SPLIT, decided("audit", "pass", "bea"), ruling]).experts == (ruling,)
    first, audit = decided("expert-review", "pass", "ada"), decided("audit", "fail", "bea")
    assert follow([first, audit, *PASSED]).state == "hard case"


def test_retention_is_counted_as_in_table_4():
    rows = [pair(n) for n in range(1, 9)] + [pair(n, "numerical") for n in range(11, 13)]
    decisions = [
        decided(
            "annotation", "fail" if n == 0 and who == "ben" else "pass", who, item=r.fields["id"]
        )
        for n, r in enumerate(rows)
        for who in ("ann", "ben")
    ]
    result = finalize(rows, decisions, contract=clean)
    table = retention_table(rows, result).set_index("category")
    assert table.loc["flipping", ["before", "retained", "hard_cases"]].tolist() == [8, 7, 1]
    assert table.loc["flipping", "retention"] == 7 / 8
    assert table.loc["overall", "before"] == 10
    assert np.isnan(table.loc["causal", "retention"])
    low, high = table.loc["overall", ["retention_low", "retention_high"]]
    assert low < 0.9 < high


def test_an_audit_is_that_of_its_last_round():
    rows = [pair(n) for n in range(1, 7)]
    ids = [row.fields["id"] for row in rows]
    decisions = [decided("audit", "fail", "eve", item=name) for name in ids]
    decisions += [
        decided("audit", "fail" if name == ids[0] else "pass", "eve", item=name, round=2)
        for name in ids
    ]
    table = audit_table(rows, decisions).set_index("category")
    assert table.loc["flipping", ["sample", "passed", "failed"]].tolist() == [6, 5, 1]
    low, high = table.loc["flipping", ["pass_rate_low", "pass_rate_high"]]
    assert (low, high) == pytest.approx(proportion_confint(5, 6, method="wilson"))
    assert list(table.index) == ["flipping", "overall"]
    few = audit_table(rows[:3], decisions).set_index("category")
    assert few.loc["flipping", "pass_rate_low"] > 0.0
    assert few.loc["flipping", "pass_rate_high"] < 1.0
    assert audit_table(rows, []).empty


def test_a_category_stands_by_its_own_last_audit():
    rows = [pair(n) for n in range(1, 5)] + [pair(n, "numerical") for n in range(11, 15)]
    first = [decided("audit", "fail", "eve", item=r.fields["id"]) for r in rows]
    again = [
        decided("audit", "pass", "eve", "2026-01-03T10:00:00Z", r.fields["id"], round=2)
        for r in rows[4:]
    ]
    table = audit_table(rows, [*again, *first]).set_index("category")
    assert table.loc["flipping", "pass_rate"] == 0.0, "others were audited again, these were not"
    assert table.loc["numerical", "pass_rate"] == 1.0


UNDECIDED = Standing(undecided="no judge was asked")


def test_what_nobody_decides_is_held_kept_or_dropped():
    rows = [pair(1, passed=None), pair(2, passed=None)]
    people = [
        decided("annotation", "pass", who, item=rows[0].fields["id"]) for who in ("ann", "ben")
    ]

    def settled(undecided):
        return finalize(
            rows, people, contract=lambda _: UNDECIDED, unreviewed="keep", undecided=undecided
        )

    held = settled("review")
    assert [row["passed"] for row in held.table(KEPT)] == [True], "people have passed it"
    (row,) = held.table(REVIEW)
    assert (row["reviewed_id"], row["passed"]) == (rows[1].fields["id"], None)
    assert row["reason"] == "undecided: no judge was asked"
    assert held.counts["to review"] == 1
    table = retention_table(rows, held).set_index("category")
    assert table.loc["flipping", ["retained", "to_review", "removed"]].tolist() == [1, 1, 0]
    kept = settled("keep")
    assert [row["passed"] for row in kept.table(KEPT)] == [True, None]
    assert kept.table(KEPT)[1]["undecided"] == "no judge was asked"
    table = retention_table(rows, kept).set_index("category")
    assert table.loc["flipping", ["retained", "undecided"]].tolist() == [2, 1]
    events = [event for _, event in kept.events if event.stage == "finalize"]
    assert [(e.model_extra or {}).get("undecided", False) for e in events] == [False, True]
    assert len(settled("drop").table(REJECTS)) == 1


def test_a_verdict_on_another_wording_is_none_on_this():
    row = pair(1, passed=True)
    revised = decided("expert-review", "revise", "eve", item=row.fields["id"])
    seen = []
    finalize(
        [row], [revised], contract=lambda r: seen.append(dict(r)) or UNDECIDED, unreviewed="keep"
    )
    assert "passed" not in seen[0]


def decisions_schema():
    """The JSON schema (draft 2020-12) of one decision, made from the model."""
    schema = ReviewDecision.model_json_schema()
    rules = [
        {
            "if": {"properties": {"stage": {"const": stage}}},
            "then": {"properties": {"decision": {"enum": list(answers)}}},
        }
        for stage, answers in ALLOWED.items()
    ]
    rules.append(
        {
            "if": {"properties": {"decision": {"const": "revise"}}},
            "then": {
                "required": ["rewritten"],
                "properties": {"rewritten": {"type": "string"}},
            },
            "else": {"properties": {"rewritten": {"type": "null"}}},
        }
    )
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "allOf": rules}


def test_the_published_schema_is_the_models_and_agrees_with_it():
    assert json.loads(published_schema()) == decisions_schema()
    check = jsonschema.Draft202012Validator(decisions_schema())
    for stage, answers in ALLOWED.items():
        for decision in {answer for a in ALLOWED.values() for answer in a}:
            row = {
                "item_id": "p1",
                "stage": stage,
                "decided_by": "ann",
                "decision": decision,
                "when": "2026-01-01",
            }
            for text in ({}, {"rewritten": "It fell."}):
                fits = decision in answers and (decision == "revise") == bool(text)
                assert check.is_valid(row | text) == fits
                if fits:
                    ReviewDecision.model_validate(row | text)
                else:
                    with pytest.raises(ValueError, match=r"not a decision of|belongs to"):
                        ReviewDecision.model_validate(row | text)


GOOD = (
    '{"item_id":"p1","stage":"annotation","decided_by":"ann","decision":"pass","when":"2026-01-01"}'
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (GOOD.replace('"when"', '"then"'), "when: is missing"),
        (GOOD.replace("2026-01-01", "yesterday"), "when: "),
        (GOOD.replace('"pass"', '"passed"'), "decision: "),
        (GOOD.replace('"pass"', '"revise"'), "'revise' is not a decision of annotation"),
        (
            GOOD.replace("annotation", "revision").replace('"pass"', '"revise"'),
            "'rewritten' belongs",
        ),
        (GOOD.replace("p1", "p9"), "there is no item 'p9'"),
        (GOOD.replace('ann"', ' "'), "decided_by: is blank"),
        (GOOD, "decides on p1 twice at one time (first on line 1)"),
        ("[1]", "the row is a list"),
        (
            GOOD.replace("annotation", "secondary-review"),
            "a dispute of their own (annotation, line 1)",
        ),
        (
            GOOD.replace("annotation", "arbitration").replace("ann", " Ann "),
            "' Ann ' rules at arbitration on p1, a dispute of their own (annotation, line 1)",
        ),
    ],
)
def test_a_bad_decision_is_reported_by_its_line(tmp_path, line, message):
    path = tmp_path / "decisions.jsonl"
    path.write_text(f"{GOOD}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"decisions\.jsonl:2: ") as caught:
        load_decisions(path, ["p1"])
    assert message in str(caught.value)


def test_decisions_may_come_from_a_spreadsheet(tmp_path):
    path = tmp_path / "decisions.csv"
    path.write_text(
        "item_id,stage,decided_by,decision,when,why,rewritten,inclusion_probability,team\n"
        "p1,audit,eve,fail,2026-01-01,a new name,,0.15,blue\n",
        encoding="utf-8",
    )
    (decision,) = load_decisions(path)
    assert decision.rewritten is None
    assert decision.inclusion_probability == 0.15
    assert decision.model_extra == {"team": "blue"}
