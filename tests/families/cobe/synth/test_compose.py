"""Composed stories: crossed, balanced, proven, the same from one seed; and found out when not."""

import copy
import itertools
import json
import re
from collections import Counter, defaultdict
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.families.cobe.data import known_story, load_known, read_story, story_object
from contrafact.families.cobe.synth.compose import (
    Cell,
    cells_of,
    compose,
    compose_block,
    domain_named,
    story_lines,
)
from contrafact.families.cobe.synth.crossing import situation, true_claim
from contrafact.families.cobe.synth.lexicon import bundled_lexicon, handwritten_plots, load_lexicon
from contrafact.families.cobe.synth.plots import draw_plot
from contrafact.families.cobe.synth.prove import Reader, check_story
from contrafact.records import DOMAINS, GRAPHS

LEXICON = bundled_lexicon()


@pytest.fixture(scope="module")
def rows():
    """One block of every cell."""
    return list(compose(42 * 4, 3))


def test_every_cell_has_its_share_and_every_story_is_a_case_of_its_own(rows):
    cells = Counter((row["Domain"], row["Graph type"]) for row in rows)
    assert cells == {(d, g): 4 for d in DOMAINS for g in GRAPHS}
    proofs = [row["Proof"] for row in rows]
    cases = {
        json.dumps([p["template"], p["mechanisms"], p["facts"], p["intervention"]]) for p in proofs
    }
    assert len(cases) == len({row["Variation text"] for row in rows}) == len(rows)
    assert {len(p["intervention"]) for p in proofs} == {1, 2, 3}
    assert all(4 <= len(p["graph"]) <= 9 for p in proofs)


def test_every_answer_is_right_for_one_story_and_wrong_for_others(rows):
    right, wrong = Counter(), Counter()
    for row in rows:
        right.update((row["Core Set ID"], answer["text"]) for answer in row["Right answers"])
        wrong.update((row["Core Set ID"], answer["text"]) for answer in row["Wrong answers"])
    assert set(right) == set(wrong)
    assert set(right.values()) == {1}
    assert set(wrong.values()) == {3}


def test_hardly_any_story_reads_nearly_like_another_of_its_block(rows):
    near = 0
    grams = []
    for row in rows:
        words = re.findall(r"[a-z0-9']+", row["Variation text"].lower())
        grams.append(set(zip(words, words[1:], words[2:], strict=False)))
    for place, own in enumerate(grams):
        block = [grams[i] for i in range(place - place % 4, place - place % 4 + 4) if i != place]
        near += max(len(own & other) / len(own | other) for other in block) > 0.5
    assert near <= 0.02 * len(rows)


def test_no_sentence_with_a_link_follows_another(rows):
    links = re.compile(
        r"(As a result|For that reason|Because of this|Therefore|That is why|Even so|Nevertheless"
        r"|All the same|Despite this|In spite of this)\b"
    )
    for row in rows:
        for text in (row["Variation text"], *(one["text"] for one in row["Right answers"])):
            linked = [bool(links.match(one)) for one in re.split(r"(?<=[.:])\s+", text)]
            assert not any(itertools.starmap(lambda a, b: a and b, itertools.pairwise(linked))), (
                text
            )


def test_a_pronoun_stands_right_after_a_sentence_on_what_it_stands_for_alone(rows):
    found = 0
    for row in rows:
        reader = Reader(row["Proof"]["wordings"])
        for answer in row["Right answers"]:
            sentences = re.split(r"(?<=[.:])\s+", answer["text"])
            for before, sentence in itertools.pairwise(sentences):
                names = {mention.name for mention in reader.read(sentence).mentions}
                if re.search(r"^(It|They)\b|\b(it|them)\.$", sentence) and any(
                    name.startswith("shield_") for name in names
                ):
                    found += 1
                    event = names.pop().removeprefix("shield_")
                    assert {one.name for one in reader.read(before).mentions} == {event}
    assert found > 10


def test_every_criterion_is_failed_and_failures_come_single_and_several(rows):
    failed, sizes = Counter(), Counter()
    for row in rows:
        for answer in row["Wrong answers"]:
            names = [name for name, passes in answer["verdicts"].items() if not passes]
            assert answer["fails"] == min(names)
            failed.update(names)
            sizes[len(names)] += 1
    assert set(failed) == {"E1", "E2", "E3", "E4", "E5"}
    assert sizes[1] and sizes[2]


def test_no_answer_quotes_a_clause_of_its_story_or_of_a_criterion(rows):
    for row in rows:
        texts = [row["Variation text"], *row["Evaluation criteria"]]
        answers = [a["text"].lower() for a in row["Right answers"] + row["Wrong answers"]]
        clauses = [
            clause.lower()
            for forms in row["Proof"]["wordings"].values()
            if "amounts" not in forms
            for word in ("true", "false")
            for clause in forms[word]["clauses"]
        ]
        quoted = [c for c in clauses if any(f"{c}." in text.lower() for text in texts)]
        # A short clause may be the beginning of another, longer one: "failed", "failed to come".
        for clause in quoted:
            assert not any(re.search(rf"\b{re.escape(clause)}[.,;]", text) for text in answers)


def test_the_story_s_number_stands_in_e4_and_in_no_answer(rows):
    seen = 0
    for row in rows:
        for criterion in row["Evaluation criteria"][2:]:
            if criterion.startswith("Numerical"):
                seen += 1
                figure = f"{row['Proof']['facts']['q']:,}"
                assert figure in re.findall(r"\d[\d,]*", criterion)
                for answer in row["Right answers"] + row["Wrong answers"]:
                    numbers = answer["text"].replace("Option 1", "").replace("Option 2", "")
                    assert figure not in re.findall(r"\d[\d,]*", numbers)
    assert seen > 50


def test_a_story_goes_through_its_file_and_back(rows):
    for row in rows:
        again = json.loads(json.dumps(row))
        assert check_story(again) == []
        story = read_story(again)
        assert story_object(story).items() <= row.items()
        known = known_story(again)
        assert [known.verdicts(a) for a in known.wrong] == [
            a["verdicts"] for a in row["Wrong answers"]
        ]


def test_one_seed_gives_the_same_stories_and_another_none_of_them():
    first = [row["Variation text"] for row in compose(24, 9)]
    assert [row["Variation text"] for row in compose(16, 9)] == first[:16]
    assert set(first).isdisjoint(row["Variation text"] for row in compose(24, 10))


@given(st.integers(0, 10**9), st.sampled_from(GRAPHS))
@settings(max_examples=30, deadline=None)
def test_any_block_proves_itself(seed, graph):
    lines, _ = compose_block(LEXICON, [Cell("Engineering", graph)], seed, 0)
    for line in lines:
        assert check_story(json.loads(line)) == []


@given(st.integers(0, 10**9), st.sampled_from(GRAPHS))
@settings(max_examples=60, deadline=None)
def test_masks_of_worlds_say_what_the_model_says(seed, graph):
    rng = Random(seed)
    plot = draw_plot(LEXICON, rng.choice(LEXICON.scenes), graph, rng)
    if plot is None:
        return
    model = plot.model()
    chosen = [rng.choice(list(plot.events))]
    one = situation(plot, rng.randrange(plot.everything.bit_length()), 1, chosen)
    facts = dict(one.facts)
    if plot.measure is not None:
        facts["q"] = one.before_quantity
    from contrafact.causal.counterfactual import consequences

    proof = consequences(model, facts, one.supposed)
    for name, then in one.after.items():
        assert proof.of(name).after == then
    for name, value in one.implied.items():
        assert proof.of(name).before == value


def test_nothing_but_neutral_joining_is_right_across_a_cut_edge(rows):
    for row in rows:
        reader = Reader(row["Proof"]["wordings"])
        for answer in row["Right answers"] + row["Wrong answers"]:
            crossing = [
                claim
                for claim in reader.read(answer["text"]).claims
                if claim.effect.name in row["Proof"]["intervention"]
            ]
            if crossing:
                assert answer["verdicts"]["E3"] is False


def test_because_needs_that_the_effect_would_not_be_so_without_the_cause():
    found = Counter()
    for seed in range(400):
        rng = Random(seed)
        plot = draw_plot(LEXICON, rng.choice(LEXICON.scenes), "collider", rng)
        if plot is None:
            continue
        gates = {n: g for n, g in plot.gates.items() if g.form == "or" and not g.other}
        for name, gate in gates.items():
            one = situation(plot, rng.randrange(plot.everything.bit_length()), 0, [])
            causes = [one.facts[p] for p in gate.parents]
            if one.facts[name] and all(causes):
                from contrafact.families.cobe.synth.crossing import Claim

                alone = Claim(gate.parents[:1], name, follows=True)
                both = Claim(gate.parents, name, follows=True)
                assert not true_claim(plot, alone, one.facts, one.worlds, {})
                assert true_claim(plot, both, one.facts, one.worlds, {})
                found["both"] += 1
    assert found["both"] > 5


def altered(row, **changes):
    again = copy.deepcopy(row)
    for key, value in changes.items():
        again[key.replace("_", " ")] = value
    return check_story(again)


def test_the_checker_finds_what_is_wrong(rows):
    row = next(r for r in rows if len(r["Evaluation criteria"]) == 4)
    stays, changes, number, latent = row["Evaluation criteria"]
    other = "lower" if "higher" in number else "higher"
    for criteria, about in (
        ([changes, stays, number, latent], "E1 is about"),
        ([stays, changes, latent], "E4 does not say"),
        ([stays, changes, number], "E5 does not say"),
        ([stays, changes, f"Numerical change expected: It is {other} than 1.", latent], "E4 does"),
        ([*row["Evaluation criteria"], "Be brief."], "no known kind"),
    ):
        assert any(about in p for p in altered(row, Evaluation_criteria=criteria)), about
    for place, answer in enumerate(row["Wrong answers"]):
        for name, passes in answer["verdicts"].items():
            wrong = copy.deepcopy(row["Wrong answers"])
            wrong[place]["verdicts"][name] = not passes
            assert any("a wrong answer fails" in p for p in altered(row, Wrong_answers=wrong))
    right = [*row["Right answers"], {**row["Wrong answers"][0]}]
    assert any("a right answer fails" in p for p in altered(row, Right_answers=right))
    queries = [*row["Query"][:2], row["Query"][0]]
    assert altered(row, Query=[*row["Query"][:2], "Rewrite it."])
    assert altered(row, Query=queries) == []  # the same supposition, if in another form
    assert altered(row, Graph_type="tree")
    proof = copy.deepcopy(row["Proof"])
    name = next(n for n, kind in proof["consequences"].items() if kind["kind"] == "stays")
    proof["consequences"][name]["after"] = not proof["consequences"][name]["after"]
    assert any("the proof says" in p for p in altered(row, Proof=proof))
    del proof["mechanisms"]
    assert "'Proof' is incomplete" in altered(row, Proof=proof)[0]


def test_hand_written_plots_are_whole():
    plots = handwritten_plots()
    assert {(one["graph"], one["domain"]) for one in plots.values()} == {
        (graph, domain) for graph in GRAPHS for domain in DOMAINS
    }
    assert len({one["number"] for one in plots.values()}) == len(plots) == 48
    for name, one in plots.items():
        known = {*one["told"], *one.get("latent", {}), *one.get("noise", ())}
        for effect, expression in one["causes"].items():
            causes = set(re.findall(r"[a-z_]+", expression)) - {"and", "or", "not"}
            assert effect in one["told"] and causes <= known, (name, effect)
        slots = set(re.findall(r"\{(\w+)\}", str(one["told"]) + str(one.get("latent")))) - {"n"}
        assert slots <= set(one["words"]), name


def test_cells_are_chosen_and_wrong_ones_reported():
    assert domain_named("  arts and  ENTERTAINMENT ") == "Arts and Entertainment"
    with pytest.raises(InputError, match="no domain 'Cooking'; use one of Health"):
        domain_named("Cooking")
    assert {c.graph for c in cells_of(LEXICON, graph="fork")} == {"fork"}
    assert len(cells_of(LEXICON, domain="Engineering")) == 6
    with pytest.raises(InputError, match="no graph type 'tree'; use one of chain"):
        cells_of(LEXICON, graph="tree")


def test_wordings_of_one_kind_share_no_telling_word():
    """What tells trouble from its absence in one wording tells nothing in another."""
    small = {"a", "the", "of", "to", "in", "on", "at", "off", "out", "up", "all", "everybody"}
    small |= {"woke", "nobody", "somebody", "kept", "good"}
    for kind in {e.kind.name: e.kind for s in LEXICON.scenes for e in s.events}.values():
        choices = []
        for well, trouble in kind.wordings:
            one, other = (set(c.stated.lower().split()) for c in (well, trouble))
            choices.append((one ^ other) - small)
        for first, second in itertools.combinations(choices, 2):
            assert not first & second, (kind.name, first & second)


def test_a_lexicon_of_ones_own_is_drawn_from_and_its_mistakes_are_reported(tmp_path):
    from pathlib import Path

    import contrafact.families.cobe.synth as synth

    source = Path(synth.__file__).parent / "lexicon"
    kinds = (source / "kinds.toml").read_text()
    scenes = (source / "scenes.toml").read_text()
    (tmp_path / "kinds.toml").write_text(kinds)
    (tmp_path / "scenes.toml").write_text(scenes.replace("the main fan", "the great fan"))
    mine = load_lexicon(tmp_path)
    assert any(e.entity == "the great fan" for s in mine.scenes for e in s.events)
    assert len(list(story_lines(4, 1, private_lexicon=tmp_path))) == 4
    for old, new, message in (
        ("<failed>", "failed", "needs one verb"),
        ("{x} <gave|given> out", "it <gave|given> out", "needs the slot"),
        ("[machine]\n", "[machine]\nsize = 1\n", "'size' is not known"),
    ):
        (tmp_path / "kinds.toml").write_text(kinds.replace(old, new, 1))
        with pytest.raises(InputError, match=message) as error:
            load_lexicon(tmp_path)
        assert "kinds.toml" in str(error.value)
    (tmp_path / "kinds.toml").write_text(kinds)
    for old, new, message in (
        ('"Engineering"', '"Cooking"', "not one of the seven"),
        ('["machine", 1, "the main fan"]', '["machin", 1, "the main fan"]', "'machin' is missing"),
        ('["machine", 1, "the main fan"]', '["machine", 9, "the main fan"]', "rank"),
        ("{town} mine", "{city} mine", "slot {city}"),
    ):
        (tmp_path / "scenes.toml").write_text(scenes.replace(old, new, 1))
        with pytest.raises(InputError) as error:
            load_lexicon(tmp_path)
        assert message in str(error.value)


@pytest.mark.slow
def test_grammar_is_clean(rows):
    from harper import Dialect, Language, Linter

    linter = Linter(dialect=Dialect.BRITISH)
    names = {word for pool in LEXICON.names.values() for entry in pool for word in entry.split()}
    linter.import_words(sorted(names | {f"{name}'s" for name in names}))
    sentences: dict[str, None] = {}
    for row in rows[::3]:
        texts = [row["Variation text"], *row["Evaluation criteria"]]
        texts += [answer["text"] for answer in row["Right answers"]]
        parts = (part for text in texts for part in re.findall(r"[^.!?:\n]+[.!?:\n]*", text))
        sentences |= dict.fromkeys(part.strip() for part in parts if part.strip())
    for sentence in sentences:
        lints = linter.lint(sentence, language=Language.PLAINTEXT)
        found = [(lint.problem_text, lint.message) for lint in lints]
        assert [one for one in found if "words long" not in one[1]] == [], sentence


def test_known_answers_are_loaded_with_their_verdicts(rows, tmp_path):
    path = tmp_path / "stories.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[:8]))
    known = load_known(path)
    assert len(known) == 8
    by_fails = defaultdict(int)
    for one in known:
        for answer in one.wrong:
            by_fails[sum(not v for v in one.verdicts(answer).values())] += 1
    assert by_fails[0] == 0
