"""What a text settles: the family of all models that agree with it."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.cobe.synth.relations import ConnectorClaim, Family, Relation, family_of

GRAPH = {"power": [], "filter": [], "pump": ["power", "filter"], "bill": ["pump"]}
FACTS = {"power": True, "filter": False, "pump": True, "bill": 400}
ANY = Relation("Either stops it.", "any", ("power", "filter"), "pump")
ALL = Relation("It takes both.", "all", ("power", "filter"), "pump")
UP = Relation("A stopped pump makes the bill higher.", "up", ("pump",), "bill")


def outcome(relations, joinings=(), facts=FACTS, **supposed):
    family = family_of(facts, GRAPH, ["bill"], relations, joinings)
    after = family.after(supposed)
    return after["pump"], family.directions("bill", after)


def test_what_no_sentence_tells_is_open():
    assert outcome([], power=False) == ({False, True}, {"down", "nowhere", "up"})
    assert outcome([UP], power=False) == ({False, True}, {"down", "nowhere"})


def test_a_rule_settles_it():
    assert outcome([ANY, UP], power=False) == ({False}, {"down"})
    assert outcome([ANY, UP], power=False, filter=True) == ({True}, {"nowhere"})
    assert outcome([ANY, UP], filter=True) == ({True}, {"nowhere"})


def test_a_connector_settles_the_cause_that_it_names_and_no_other():
    because = [ConnectorClaim(("power",), "pump", follows=True)]
    assert outcome([UP], because, power=False) == ({False}, {"down"})
    assert outcome([UP], because, power=False, filter=True)[0] == {False, True}
    together = [ConnectorClaim(("power", "filter"), "pump", follows=True)]
    both = FACTS | {"filter": True}
    assert outcome([UP], together, both, power=False, filter=False)[0] == {False}
    assert outcome([UP], together, both, power=False)[0] == {False, True}


def test_what_holds_back_is_implied_or_left_open():
    graph = {"power": [], "pump": ["power"]}
    rule = Relation("Only a battery helps.", "any", ("power",), "pump", "battery")
    for pump, battery in ((False, True), (True, False)):
        family = family_of({"power": True, "pump": pump}, graph, [], [rule], [])
        assert family.implied() == {"battery": battery}
        assert family.after({"power": False})["pump"] == {False}
    family = family_of({"power": False, "pump": False}, graph, [], [rule], [])
    assert family.implied() == {"battery": None}
    assert family.after({"power": True})["pump"] == {False, True}


def test_a_contrast_says_that_the_cause_did_not_do_it():
    graph = {"power": [], "pump": ["power"]}
    facts = {"power": True, "pump": False}
    joinings = [ConnectorClaim(("power",), "pump", follows=False)]
    assert family_of(facts, graph, [], [], joinings).after({"power": False})["pump"] == {False}


def test_what_cannot_be_is_an_error():
    with pytest.raises(ValueError, match="agrees with the facts"):
        outcome([ALL])
    with pytest.raises(ValueError, match="cannot be causes of 'power'"):
        outcome([], [ConnectorClaim(("pump",), "power", follows=True)])
    with pytest.raises(ValueError, match="form 'none' is not known"):
        Relation.of({"says": "", "form": "none", "causes": [], "effect": ""})
    assert Relation.of(ANY.record()) == ANY


@st.composite
def _open_texts(draw: st.DrawFn) -> Family:
    """Facts of a few events with drawn causes, of which few rules are told: models that differ."""
    names = [f"e{index}" for index in range(draw(st.integers(2, 5)))]
    parents = {
        name: draw(st.lists(st.sampled_from(names[:index]), unique=True, max_size=2))
        if index
        else []
        for index, name in enumerate(names)
    }
    facts = {name: draw(st.booleans()) for name in names}
    rules = [
        Relation(name, draw(st.sampled_from(["any", "all"])), tuple(parents[name]), name, "shield")
        for name in names
        if parents[name] and draw(st.booleans())
    ]
    try:
        return family_of(facts, parents, [], rules, [])
    except ValueError:
        return family_of(facts, parents, [], [], [])


@given(_open_texts(), st.data())
def test_what_may_follow_is_what_follows_in_some_model(family: Family, data: st.DataObject):
    names = list(family.choices)
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    supposed = {name: not family.facts[name] for name in chosen}
    possible: dict[str, set[object]] = {name: set() for name in names}
    for member in product(*family.choices.values()):
        values: dict[str, bool] = {}
        for name, choice in zip(names, member, strict=True):
            setting = sum(values[cause] << bit for bit, cause in enumerate(family.parents[name]))
            values[name] = supposed.get(name, choice.function[setting])
            possible[name].add(values[name])
    assert family.after(supposed) == possible


def test_many_events_that_are_left_open_are_worked_through():
    names = [f"e{index}" for index in range(16)]
    parents = {name: names[max(0, index - 2) : index] for index, name in enumerate(names)}
    after = family_of(dict.fromkeys(names, True), parents, [], [], []).after({"e0": False})
    assert after["e0"] == {False}
    assert after["e15"] == {False, True}
