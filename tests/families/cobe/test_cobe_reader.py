"""A reader's replies: what becomes of honest ones, of lies and of what cannot be read."""

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.cobe.data import read_story, subject_of
from contrafact.families.cobe.read.question import (
    asked_facts,
    read_reply,
    reader_prompt,
    reader_template,
)
from contrafact.families.cobe.read.reader import question
from contrafact.families.cobe.read.told import ToldReading, decide
from contrafact.families.cobe.synth.compose import compose
from contrafact.families.cobe.synth.prove import Facts
from contrafact.families.cobe.verifier import decisions, opened
from contrafact.prompts import open_pack

FREE = "So it went in the other telling: {}."
"""Words that no file has, around the facts; the grammar cannot read them."""


@cache
def story():
    """Return a drawn story that tells a number and implies a latent fact."""
    for row in compose(60, 0):
        row = json.loads(json.dumps(row))
        if {"E4", "E5"} <= row["Right answers"][0]["verdicts"].keys():
            return read_story(row)
    raise AssertionError("no such story was drawn")


@cache
def facts():
    found = opened(subject_of(story(), "nothing"))
    assert isinstance(found, Facts)
    return found


@cache
def response():
    """Return free words that tell every fact as it is after the edit, and their quotations."""
    words = {}
    for consequence in facts().proof.consequences:
        name = consequence.variable
        forms = facts().reader.wordings.get(name)
        if forms is None:
            continue
        if "amounts" in forms:
            words[name] = f"{forms['entity']} turned out otherwise"
        elif consequence.after is not None:
            words[name] = f"as for {name}, it was {consequence.after}"
    return FREE.format("; ".join(words.values())), words


def truth(fact):
    """Return the answer that tells a fact as it is after the edit."""
    consequence = facts().proof.of(fact.name)
    value = consequence.direction if fact.name in facts().text.quantities else consequence.after
    return next(key for key, outcome in fact.outcomes.items() if outcome == value)


def reply(attempt=0, change=lambda fact, answer: answer, links=()):
    text, words = response()
    answers = []
    for fact in asked_facts(facts(), text, attempt):
        answer = {"fact": fact.label, "holds": truth(fact), "words": words[fact.name]}
        answers.append(change(fact, answer))
    return json.dumps({"facts": answers, "links": list(links)})


def decided(*replies):
    subject = subject_of(story(), response()[0]) | {"readings": list(replies)}
    return {name: found.passed for name, found in decisions(subject).items()}


def test_an_honest_reader_decides_what_the_grammar_leaves_open():
    assert set(decided().values()) == {None}
    assert set(decided(reply()).values()) == {True}


def test_a_quotation_that_is_not_there_opens_the_criteria_of_its_fact_and_no_other():
    stays = next(iter(facts().about["E1"]))

    def lie(fact, answer):
        return answer | {"words": "no such words"} if fact.name == stays else answer

    found = decided(reply(change=lie))
    assert found.pop("E1") is None
    assert set(found.values()) == {True}


def test_a_reader_that_says_a_always_is_believed_only_where_it_quotes():
    def always(fact, answer):
        return answer | {"holds": next(iter(fact.outcomes)), "words": ""}

    assert decided(reply(change=always))["E1"] is None
    assert decided(reply(change=always))["E2"] is None


def test_what_is_not_said_decides_only_if_a_second_reading_says_so_too():
    stays = next(iter(facts().about["E1"]))

    def silent(fact, answer):
        return answer | {"holds": "unsaid", "words": ""} if fact.name == stays else answer

    first, second = reply(0, silent), reply(1, silent)
    assert decided(first)["E1"] is None
    assert decided(first, reply(1))["E1"] is None
    assert decided(first, "no JSON")["E1"] is None
    assert decided(first, second)["E1"] is False
    assert decided(first, second)["E2"] is True


def test_what_is_implied_and_not_said_is_not_denied_and_needs_no_second_reading():
    def silent(fact, answer):
        return answer | {"holds": "unsaid"} if fact.name in facts().implied else answer

    assert set(decided(reply(change=silent)).values()) == {True}
    subject = subject_of(story(), response()[0])
    assert question(subject) is not None
    assert question(subject | {"readings": [reply(change=silent)]}) is None


@pytest.mark.parametrize("before", ["", "No "])
def test_words_that_are_the_other_outcome_open_the_fact(before):
    """A slip: "A", quoted with the words of B. With more words they may deny B."""
    asked = next(one for one in asked_facts(facts(), "", 0) if "a" in one.shown)
    words = f"{before}{asked.shown['b']}"
    for holds, told in (("A", bool(before)), ("B", True)):
        answer = {"fact": asked.label, "holds": holds, "words": words}
        read = read_reply(json.dumps({"facts": [answer], "links": []}), [asked], f"{words}.")
        assert isinstance(read, ToldReading)
        assert (asked.name in read.told) == told


@pytest.mark.parametrize("words", ["a", "e", "t wa", "ther telling", ""])
def test_a_quotation_is_of_whole_words(words):
    def letters(fact, answer):
        return answer | {"words": words}

    whole = words in response()[0].split()
    assert not whole and set(decided(reply(change=letters)).values()) == {None, True}


@pytest.mark.parametrize(
    ("holds", "criterion", "passes"),
    [
        ("open", "E1", False),
        ("both", "E1", False),
        ("open", "E2", True),
        ("both", "E2", False),
        ("same", "E4", False),
        ("open", "E4", False),
        ("both", "E4", False),
        ("open", "E5", True),
        ("both", "E5", False),
    ],
)
def test_every_outcome_is_decided_by_the_table(holds, criterion, passes):
    supposed = facts().proof.intervention
    name = next(name for name in facts().about[criterion] if name not in supposed)

    def told(fact, answer):
        return answer | {"holds": holds} if fact.name == name else answer

    found = decided(reply(change=told))
    assert found.pop(criterion) is passes
    assert False not in found.values()


@pytest.mark.parametrize("holds", ["open", "both"])
def test_what_is_supposed_has_to_be_said(holds):
    name = next(iter(facts().proof.intervention))

    def told(fact, answer):
        return answer | {"holds": holds} if fact.name == name else answer

    assert decided(reply(change=told))["E2"] is False


def test_a_link_is_decided_by_its_sign_and_open_where_it_joins_something_else():
    text, words = response()
    labels = {fact.name: fact.label for fact in asked_facts(facts(), text, 0)}
    parents = {n: facts().model.mechanism(n).parents for n in facts().about["E2"] if n in labels}
    effect, cause = next((n, p) for n, some in parents.items() for p in some if p in labels)
    joined = {"causes": [labels[cause]], "effect": labels[effect], "words": words[effect]}
    because, despite = (joined | {"kind": kind} for kind in ("because", "despite"))
    passes = decided(reply(links=[because]))["E3"]
    assert passes in (True, False)
    assert decided(reply(links=[despite]))["E3"] is not passes
    outside = because | {"causes": ["other"]}
    assert decided(reply(links=[outside]))["E3"] is None
    assert decided(reply(links=[because | {"words": "not there"}]))["E3"] is None
    wrong = because if passes is False else despite
    assert decided(reply(links=[outside, wrong]))["E3"] is False


@pytest.mark.parametrize(
    ("kept", "quoted", "clear"),
    [
        ("Rain had drowned the fuses, so the hall was dark.", "so the hall was dark", True),
        ("Frost had split the pipe, so the hall was dark.", "so the hall was dark", False),
        ("So the hall was dark.", "So the hall was dark", False),
        ("The bill was 3.5 pounds, so the hall was dark.", "so the hall was dark", False),
        (
            "Rain had drowned the fuses, so the hall was dark. Frost came, so the hall was dark.",
            "so the hall was dark",
            False,
        ),
    ],
)
def test_a_reason_outside_the_facts_is_left_to_the_sentence_of_the_story(kept, quoted, clear):
    """Unless the sentence takes its reason from the one before it, which may be another now."""
    text = f"{response()[0]} {kept}"
    asked = asked_facts(facts(), text, 0)
    link = {"causes": ["other"], "effect": asked[0].label, "words": quoted, "kind": "because"}
    given = "Rain had drowned the fuses, so the hall was dark. So the hall was dark. End."
    read = read_reply(json.dumps({"facts": [], "links": [link]}), asked, text, given)
    assert isinstance(read, ToldReading) and bool(read.unclear) is not clear


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "T",
        "I cannot do that.",
        "{",
        "[]",
        '{"facts": []}',
        '{"facts": {}, "links": []}',
        '{"facts": [1], "links": []}',
        '{"facts": [{"fact": "F99", "holds": "A", "words": "x"}], "links": []}',
        '{"facts": [{"holds": "A"}], "links": [], "facts": []}',
    ],
)
def test_a_reply_that_cannot_be_read_leaves_all_open(bad):
    assert set(decided(bad).values()) == {None}


def test_no_answer_and_two_answers_leave_one_fact_open():
    whole = json.loads(reply())
    fewer = {**whole, "facts": whole["facts"][1:]}
    twice = {**whole, "facts": [*whole["facts"], whole["facts"][0]]}
    text = response()[0]
    asked = asked_facts(facts(), text, 0)
    for changed in (fewer, twice):
        read = read_reply(json.dumps(changed), asked, text)
        assert isinstance(read, ToldReading)
        assert list(read.unread) == [asked[0].name]


def test_the_question_shows_neither_the_request_nor_what_is_right():
    text = response()[0]
    asked = asked_facts(facts(), text, 0)
    prompt = reader_prompt(reader_template(open_pack()), story().text, text, asked)
    assert not any(query in prompt for query in story().queries)
    assert not any(criterion in prompt for criterion in (story().numerical, story().answer))
    assert text in prompt and story().text in prompt
    blind = reader_prompt(reader_template(open_pack()), "", text, asked)
    assert story().text not in blind and "<story>" not in blind
    orders = {tuple(fact.name for fact in asked_facts(facts(), text, n)) for n in range(8)}
    assert len(orders) > 1


@given(st.text(max_size=200))
def test_any_reply_is_read_or_refused(text):
    asked = asked_facts(facts(), response()[0], 0)
    read = read_reply(text, asked, response()[0])
    assert isinstance(read, str) or decide(facts(), read)
