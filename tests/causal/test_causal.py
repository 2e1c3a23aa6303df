"""Structural causal models: the two algorithms agree with each other and with a library's."""

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.causal.counterfactual import (
    Disagreement,
    ImpossibleFacts,
    abduct,
    consequences,
    counterfactual,
)
from contrafact.causal.model import Graph, Mechanism, Model, Noise, Variable
from contrafact.causal.twin import twin_joint


def settings_of(model):
    return list(product(*(range(len(noise.probabilities)) for noise in model.noises)))


def model_of(variables, noises, functions):
    """A model whose mechanisms are functions of the parents' values and then the noise's."""
    values = {v.name: v.values for v in variables}
    values |= {n.name: range(len(n.probabilities)) for n in noises}
    mechanisms = [
        Mechanism(
            name,
            parents,
            terms,
            {key: made(*key) for key in product(*(values[one] for one in (*parents, *terms)))},
        )
        for name, (parents, terms, made) in functions.items()
    ]
    return Model(tuple(variables), tuple(noises), tuple(mechanisms))


def of(proof, name):
    return next(one for one in proof.consequences if one.variable == name)


@st.composite
def models(draw) -> Model:
    """Any model of up to five variables, with noise of their own and shared noise."""
    size = draw(st.integers(2, 5))
    variables = [
        Variable(f"v{i}", tuple(range(draw(st.integers(2, 3)))), ordered=draw(st.booleans()))
        for i in range(size)
    ]
    noises = []
    for i in range(draw(st.integers(1, 4))):
        weights = draw(st.lists(st.integers(1, 9), min_size=2, max_size=3))
        total = sum(weights)
        noises.append(Noise(f"u{i}", tuple(weight / total for weight in weights)))
    mechanisms = []
    for i, variable in enumerate(variables):
        parents = draw(st.lists(st.sampled_from(range(i)), unique=True, max_size=2)) if i else []
        terms = draw(st.lists(st.sampled_from(noises), unique_by=lambda n: n.name, max_size=2))
        domains = [variables[p].values for p in parents]
        domains += [range(len(n.probabilities)) for n in terms]
        table = {key: draw(st.sampled_from(variable.values)) for key in product(*domains)}
        names = tuple(variables[p].name for p in parents)
        mechanisms.append(Mechanism(variable.name, names, tuple(n.name for n in terms), table))
    return Model(tuple(variables), tuple(noises), tuple(mechanisms))


@st.composite
def situations(draw):
    """A model, facts that it can give, and an intervention on one or two variables."""
    model = draw(models())
    setting = draw(st.sampled_from(settings_of(model)))
    values = model.predict(setting)
    observed = draw(st.lists(st.sampled_from(model.order), unique=True))
    targets = draw(st.lists(st.sampled_from(model.order), unique=True, min_size=1, max_size=2))
    intervention = {t: draw(st.sampled_from(model.variable(t).values)) for t in targets}
    return model, {name: values[name] for name in observed}, intervention


def close(one, other):
    for name, pairs in one.items():
        assert pairs.keys() == other[name].keys(), name
        for pair, probability in pairs.items():
            assert math.isclose(probability, other[name][pair], abs_tol=1e-9), (name, pair)


def by_library(model, facts, intervention):
    """The twin network in pyAgrum, built and solved without any code of ours."""
    import pyagrum as gum

    net = gum.BayesNet()
    for noise in model.noises:
        net.add(gum.RangeVariable(noise.name, "", 0, len(noise.probabilities) - 1))
        net.cpt(noise.name).fillWith(list(noise.probabilities))
    for copy in ("", "after_"):
        for name in model.order:
            values = model.variable(name).values
            net.add(gum.RangeVariable(copy + name, "", 0, len(values) - 1))
            if copy and name in intervention:
                net.cpt(copy + name)[{}] = [float(v == intervention[name]) for v in values]
                continue
            mechanism = model.mechanism(name)
            causes = [*(copy + p for p in mechanism.parents), *mechanism.noise]
            for cause in causes:
                net.addArc(cause, copy + name)
            for key, value in mechanism.table.items():
                place = dict(zip(causes, key, strict=True))  # values are their own places here
                net.cpt(copy + name)[place] = [float(v == value) for v in values]
    joint = {}
    for name in model.order:
        infer = gum.LazyPropagation(net)
        infer.setEvidence(dict(facts))
        infer.addJointTarget({name, "after_" + name})
        infer.makeInference()
        table = infer.jointPosterior({name, "after_" + name})
        pairs = {}
        for a, b in product(model.variable(name).values, repeat=2):
            probability = table[{name: a, "after_" + name: b}]
            if probability > 0:
                pairs[(a, b)] = probability
        joint[name] = pairs
    return joint


@given(situations())
@settings(max_examples=300)
@pytest.mark.slow
def test_enumeration_and_the_twin_network_agree(situation):
    model, facts, intervention = situation
    joint = counterfactual(model, abduct(model, facts), intervention)
    close(joint, twin_joint(model, facts, intervention))


@given(situations())
@settings(max_examples=60)
def test_both_agree_with_a_library(situation):
    model, facts, intervention = situation
    close(twin_joint(model, facts, intervention), by_library(model, facts, intervention))


@given(situations())
def test_what_is_not_downstream_stays(situation):
    model, facts, intervention = situation
    proof = consequences(model, facts, intervention)
    downstream = model.graph.descendants(intervention)
    for one in proof.consequences:
        if one.variable in intervention:
            assert one.kind == "set"
            assert one.after == intervention[one.variable]
        elif one.variable not in downstream:
            assert one.kind == "stays"


@given(situations())
def test_setting_what_is_already_so_changes_nothing(situation):
    model, facts, _ = situation
    same = dict(list(facts.items())[:2])
    if not same:
        return
    proof = consequences(model, facts, same)
    assert {one.kind for one in proof.consequences} <= {"set", "stays"}
    for one in proof.consequences:
        assert one.before == one.after


@given(situations())
def test_the_posterior_is_exactly_what_gives_the_facts(situation):
    model, facts, _ = situation
    posterior = abduct(model, facts)
    assert math.isclose(sum(posterior.weights), 1.0)
    kept = set(posterior.settings)
    for setting in settings_of(model):
        gives = all(model.predict(setting)[name] == value for name, value in facts.items())
        assert (setting in kept) == gives


def sprinkler() -> Model:
    """Clouds keep the sprinkler off and bring rain; either makes the lawn wet."""
    return model_of(
        [
            Variable("cloudy", ("no", "yes")),
            Variable("sprinkler", ("off", "on")),
            Variable("rain", ("no", "yes")),
            Variable("lawn", ("dry", "wet")),
            Variable("puddles", (0, 1, 2), ordered=True),
        ],
        [Noise("sky", (0.5, 0.5)), Noise("valve", (0.9, 0.1)), Noise("drain", (0.7, 0.3))],
        {
            "cloudy": ((), ("sky",), lambda sky: ("no", "yes")[sky]),
            "sprinkler": (
                ("cloudy",), ("valve",),
                lambda cloudy, valve: "on" if cloudy == "no" or valve else "off",
            ),
            "rain": (("cloudy",), (), lambda cloudy: cloudy),
            "lawn": (
                ("sprinkler", "rain"), (),
                lambda sprinkler, rain: "wet" if "on" in (sprinkler,) or rain == "yes" else "dry",
            ),
            "puddles": (
                ("lawn",), ("drain",), lambda lawn, drain: (1 + drain) if lawn == "wet" else 0
            ),
        },
    )  # fmt: skip


def test_seeing_is_not_doing():
    """The lawn stays wet by the rain that fell: forbidding the sprinkler brings no dry day."""
    facts = {"cloudy": "yes", "sprinkler": "on", "rain": "yes", "lawn": "wet", "puddles": 2}
    proof = consequences(sprinkler(), facts, {"sprinkler": "off"})
    assert {one.variable: one.kind for one in proof.consequences} == {
        "cloudy": "stays", "sprinkler": "set", "rain": "stays", "lawn": "stays",
        "puddles": "stays",
    }  # fmt: skip


def test_noise_is_held_and_quantities_have_a_direction():
    facts = {"cloudy": "no", "sprinkler": "on", "rain": "no", "lawn": "wet", "puddles": 2}
    proof = consequences(sprinkler(), facts, {"sprinkler": "off"})
    lawn, puddles = of(proof, "lawn"), of(proof, "puddles")
    assert (lawn.kind, lawn.before, lawn.after) == ("changes", "wet", "dry")
    assert (puddles.kind, puddles.after, puddles.direction) == ("changes", 0, "down")


def test_what_the_facts_leave_open_is_not_determined():
    facts = {"cloudy": "no", "lawn": "wet"}
    proof = consequences(sprinkler(), facts, {"cloudy": "yes"})
    assert of(proof, "rain").kind == "changes"
    assert of(proof, "sprinkler").kind == "undetermined"
    assert of(proof, "lawn").kind == "stays"
    assert of(proof, "puddles").before is None
    assert of(proof, "puddles").kind == "stays"


def test_an_unobserved_common_cause_is_no_path():
    """Two effects of one hidden cause: setting one leaves the other."""
    model = model_of(
        [Variable("ice", ("sold", "left")), Variable("pool", ("full", "empty"))],
        [Noise("heat", (0.4, 0.6))],
        {
            "ice": ((), ("heat",), lambda heat: ("left", "sold")[heat]),
            "pool": ((), ("heat",), lambda heat: ("empty", "full")[heat]),
        },
    )
    proof = consequences(model, {"ice": "sold", "pool": "full"}, {"ice": "left"})
    assert of(proof, "pool").kind == "stays"


def test_what_cannot_be_is_refused():
    with pytest.raises(ImpossibleFacts):
        consequences(sprinkler(), {"lawn": "dry", "sprinkler": "on"}, {"rain": "no"})
    with pytest.raises(ValueError, match="cannot be 'maybe'"):
        consequences(sprinkler(), {"lawn": "maybe"}, {"rain": "no"})
    with pytest.raises(ValueError, match="no variable 'snow'"):
        consequences(sprinkler(), {}, {"snow": "no"})
    with pytest.raises(ValueError, match="cycle among a, b"):
        _ = Graph({"a": ["b"], "b": ["a"]}).order
    with pytest.raises(ValueError, match="has no value for"):
        Model((Variable("v", (0, 1)),), (Noise("u", (0.5, 0.5)),),
              (Mechanism("v", (), ("u",), {(0,): 1}),))  # fmt: skip


def test_a_disagreement_of_the_two_algorithms_is_never_passed_over(monkeypatch):
    def wrong(model, facts, intervention):
        joint = twin_joint(model, facts, intervention)
        joint["lawn"] = {("wet", "wet"): 1.0}
        return joint

    monkeypatch.setattr("contrafact.causal.counterfactual.twin_joint", wrong)
    facts = {"cloudy": "no", "sprinkler": "on", "rain": "no", "lawn": "wet", "puddles": 2}
    with pytest.raises(Disagreement, match="'lawn'"):
        consequences(sprinkler(), facts, {"sprinkler": "off"})
