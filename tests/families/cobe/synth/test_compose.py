"""Composed stories: crossed, balanced, proven, the same from one seed; and found out when not."""

import copy
import itertools
import json
import re
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.families.cobe.data import (
    StoryNotes,
    known_story,
    load_known,
    load_stories,
    read_story,
    story_object,
)
from contrafact.families.cobe.reading_study import facts_of
from contrafact.families.cobe.records import DOMAINS, GRAPHS
from contrafact.families.cobe.stories import verdicts
from contrafact.families.cobe.synth.compose import (
    Cell,
    compose,
    draw_rows,
    line_of,
)
from contrafact.families.cobe.synth.library import bundled_library, load_library
from contrafact.families.cobe.synth.plots import _parts
from contrafact.families.cobe.synth.prove import check_story, prove_rows
from contrafact.families.cobe.synth.reading import Reader
from contrafact.files.tables import read_rows

LIBRARY = bundled_library()


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
    assert all(3 <= len(p["graph"]) <= 9 for p in proofs)
    assert {p["format"] for p in proofs} == {2}


def test_every_answer_is_right_for_one_story_and_wrong_for_others(rows):
    right, wrong = Counter(), Counter()
    for row in rows:
        right.update((row["Core Set ID"], answer["text"]) for answer in row["Right answers"])
        crossed = [answer for answer in row["Wrong answers"] if answer["verdicts"]["E3"]]
        assert len(crossed) == 6
        wrong.update((row["Core Set ID"], answer["text"]) for answer in crossed)
    assert set(right) == set(wrong)
    assert set(right.values()) == {1}
    assert set(wrong.values()) == {3}


def test_connectors_are_right_or_wrong_by_what_the_text_itself_tells(rows):
    """E3 has one truth a text; as many right answers have a connector of either sort alone."""
    verdicts = defaultdict(set)
    sorts = Counter()
    for row in rows:
        reader = Reader(row["Proof"]["wordings"])
        turned = [one for one in row["Wrong answers"] if not one["verdicts"]["E3"]]
        assert [[n for n, v in one["verdicts"].items() if not v] for one in turned] == [["E3"]] * 2
        for answer in row["Right answers"] + row["Wrong answers"]:
            verdicts[row["Core Set ID"], answer["text"]].add(answer["verdicts"]["E3"])
        for answer in row["Right answers"]:
            claims = {claim.follows for claim in reader.read(answer["text"]).claims}
            sorts[min(claims), max(claims)] += 1
    assert {len(found) for found in verdicts.values()} == {1}
    assert sorts[False, False] == sorts[True, True] > 0
    assert sorts[False, True] > 0


def test_stories_of_either_sort_of_connector_set_and_keep_about_as_many_events(rows):
    """Else criteria and query, by their length, would say which sort is right."""
    for number in range(0, len(rows), 4):
        apart = Counter()
        for row in rows[number : number + 4]:
            proof = row["Proof"]
            claims = Reader(proof["wordings"]).read(row["Representative answer"]).claims
            if len(sorts := {claim.follows for claim in claims}) == 1:
                kinds = [proof["consequences"][name]["kind"] for name in proof["told"]]
                for kind in ("stays", "set"):
                    apart[kind] += kinds.count(kind) * (1 if sorts == {True} else -1)
        assert sum(map(abs, apart.values())) <= 3


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


def test_every_scene_has_a_part_of_every_graph_and_every_domain_has_scenes():
    assert all(set(_parts(scene)) == set(GRAPHS) for scene in LIBRARY.scenes)
    domains = Counter(scene.domain for scene in LIBRARY.scenes)
    assert set(domains) == set(DOMAINS) and min(domains.values()) >= 3


@pytest.mark.parametrize("domain", [None, *DOMAINS])
def test_blocks_of_a_draw_are_of_different_scenes(domain):
    drawn = list(compose(12, 5, domain=domain))
    assert len({row["Proof"]["template"] for row in drawn}) == 3
    ahead = list(compose(12, 5, domain=domain, processes=2))
    assert ahead == drawn


def test_one_seed_gives_the_same_stories_and_another_none_of_them():
    first = [row["Variation text"] for row in compose(24, 9)]
    assert [row["Variation text"] for row in compose(16, 9)] == first[:16]
    assert set(first).isdisjoint(row["Variation text"] for row in compose(24, 10))


def test_every_failure_mode_is_probed_and_a_law_of_nature_where_its_cause_changes(rows):
    assert {mode for row in rows for mode in row["Failure modes"]} == set(range(1, 8))
    nouns = {
        (scene.name, noun): event
        for scene in LIBRARY.scenes
        for event in scene.events.values()
        for _, noun in event.nouns
    }
    for row in rows:
        proof = row["Proof"]
        events = {
            node: nouns[proof["template"], noun]
            for node, words in proof["wordings"].items()
            for noun in words.get("true", {}).get("nouns", ())
            if (proof["template"], noun) in nouns
        }
        kinds = {node: proof["consequences"][node]["kind"] for node in events}
        laws = [
            node
            for node, event in events.items()
            for cause in proof["graph"][node]
            if kinds[node] != "set" and kinds.get(cause) in ("set", "changes")
            if event.links[events[cause].name].nature
        ]
        assert bool(laws) is (4 in row["Failure modes"]), row["Variation text"]


@given(st.integers(0, 10**9), st.sampled_from(GRAPHS))
@settings(max_examples=30, deadline=None)
def test_any_block_proves_itself(seed, graph):
    rows = draw_rows(LIBRARY, [Cell("Engineering", graph)], seed, 0)
    for row in rows:
        assert check_story(json.loads(line_of(row))) == []


def test_a_text_that_leaves_a_verdict_open_is_refused(rows):
    """Take away a sentence that tells a rule: what hangs on it is named, or was told otherwise."""
    named = Counter()
    for row in rows:
        for relation in row["Proof"]["relations"]:
            if relation["says"] in row["Variation text"]:
                text = row["Variation text"].replace(relation["says"] + " ", "")
                problems = altered(row, Variation_text=text)
                named[bool(problems), relation["form"]] += 1
                for problem in problems[:1]:
                    assert re.match(r"the text leaves open (whether|which way)", problem), problem
    for form in ("any", "all", "up", "down"):
        assert named[True, form] > 0
    assert named[True, "common"] == 0  # its noise is held: it says nothing of what is changed


def test_a_story_that_lacks_one_of_its_facts_is_refused_in_its_own_words(rows):
    missed = []
    for row in rows[::50]:
        for sentence in re.split(r"(?<=[.!?]) ", row["Variation text"]):
            problems = altered(row, Variation_text=row["Variation text"].replace(sentence, ""))
            missed += [one for one in problems if "does not tell" in one]
    assert missed
    assert all(re.fullmatch(r"the story does not tell (whether|the) .+ .+", one) for one in missed)


def test_a_fact_without_wordings_is_named_by_its_key(rows):
    row = copy.deepcopy(rows[0])
    row["Proof"]["told"].append("gone")
    assert check_story(row) == ["the story does not tell 'gone'"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: f"{text} None of this happened.",
        lambda text: f"It was all a dream. {text}",
        lambda text: text.replace(". ", ". It is said that ", 1),
        lambda text: text.replace(". ", ", or so the mayor claimed. ", 1),
        lambda text: f"{text} Unless, of course, the reports are wrong?",
        lambda text: f"{text} A strike had closed every road.",
        lambda text: f"Suppose the following were false: {text}",
        lambda text: f"{text} Niemand glaubte es.",
    ],
)
def test_a_story_with_a_sentence_that_was_not_read_is_not_proven_nor_examined(change, tmp_path):
    row = next(compose(1, 3))
    row |= {"Variation text": change(row["Variation text"])}
    ((_, found),) = prove_rows([(1, row)])
    assert "cannot read" in found.problems[0]
    decided = verdicts(read_story(row), row["Representative answer"])
    assert set(decided.values()) == {None}
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(InputError, match="cannot read"):
        load_known(path)
    load_stories(path, notes := StoryNotes())
    assert "cannot read" in notes.lines()[0]


def test_a_model_that_the_text_does_not_tell_is_refused(rows):
    found = 0
    for row in rows:
        either = [one for one in row["Proof"]["relations"] if len(one["causes"]) == 2]
        if either and either[0]["form"] in ("any", "all"):
            proof = copy.deepcopy(row["Proof"])
            for one in proof["relations"]:
                if len(one["causes"]) == 2 and one["form"] in ("any", "all"):
                    one["form"] = "all" if one["form"] == "any" else "any"
            found += bool(altered(row, Proof=proof))
    assert found > 10


def test_a_proof_without_relations_is_incomplete(rows):
    row = copy.deepcopy(rows[0])
    del row["Proof"]["relations"]
    ((_, found),) = prove_rows([(1, row)])
    assert found.problems == ("'Proof' is incomplete: 'relations'",)


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


def test_what_cannot_be_known_is_proven_from_a_file_too(tmp_path):
    """A file's reader leaves out keys that are null, such as ``after`` where nobody can know."""
    drawn = (
        row
        for row in compose(3000, 772)
        if any(one["kind"] == "undetermined" for one in row["Proof"]["consequences"].values())
    )
    opened = list(itertools.islice(drawn, 2))
    assert opened
    path = tmp_path / "opened.jsonl"
    path.write_text("".join(f"{line_of(row)}\n" for row in opened), encoding="utf-8")
    for row, (_, again) in zip(opened, read_rows(path), strict=True):
        assert check_story(again) == check_story(row) == []
        assert facts_of(again) == facts_of(row)
        for one in again["Proof"]["consequences"].values():
            if one["kind"] == "undetermined":
                one["after"] = True
        assert any("the proof says" in problem for problem in check_story(again))


def test_wordings_of_one_kind_share_no_telling_word():
    """What tells an event from its absence in one wording tells nothing in another."""
    alike = 0
    events = [event for scene in LIBRARY.scenes for event in scene.events.values()]
    for event in events:
        choices = []
        for well, happened in event.wordings:
            one, other = (set(c.stated.lower().split()) for c in (well, happened))
            choices.append((one - other, other - one))
        for first, second in itertools.combinations(choices, 2):
            shared = [{w for w in a & b if len(w) > 3} for a, b in zip(first, second, strict=True)]
            alike += any(shared)
    assert alike < 0.06 * 6 * len(events)


def test_a_library_of_ones_own_is_drawn_from_and_its_mistakes_are_reported(tmp_path):
    from pathlib import Path

    import contrafact.families.cobe.synth as synth

    rules = (Path(synth.__file__).parent / "rules" / "lake.toml").read_text()
    path = tmp_path / "pond.toml"
    path.write_text(rules.replace("at the lake of", "at the pond of"))
    stories = list(compose(8, 1, private_lexicon=tmp_path))
    assert len(stories) == 8 and {row["Proof"]["template"] for row in stories} == {"pond"}
    for old, new, message in (
        ("<was|been> very hot", "was very hot", "needs one verb"),
        ("<was|been> packed", "<was|been> packed, so", "digit or mark"),
        ("[crowd]\n", "[crowd]\nsize = 1\n", "'size' is not known"),
        ("nature = true", "natural = true", "'natural' is not known"),
        ("[crowd.from.heat]", "[crowd.from.sun]", "follows 'sun', which is not there"),
        ('"Human Activities and Behavior"', '"Cooking"', "not one of the seven"),
        ("joint = ", "effect = ", "needs a cause"),
        ("[crowd.from.heat]", "[crowd.from.boats]", "'together' goes with"),
        ("{n} dollars in fees", "ten dollars in fees", "with {n} for the number"),
        ("lake of {town}", "lake of {city}", "slot {city}"),
        ('up = "A crowd', 'more = "A crowd', "'up' or 'down'"),
        ("least = 120", "least = 1", "whole numbers from 2"),
    ):
        path.write_text(rules.replace(old, new, 1))
        with pytest.raises(InputError) as error:
            load_library(tmp_path)
        assert message in str(error.value) and "pond.toml" in str(error.value), message
    path.unlink()
    for folder, said in ((tmp_path, "has no rules"), (tmp_path / "none", "no such folder")):
        with pytest.raises(InputError, match=said):
            load_library(folder)


@pytest.mark.slow
def test_grammar_is_clean(rows):
    from harper import Dialect, Language, Linter

    linter = Linter(dialect=Dialect.BRITISH)
    names = {word for pool in LIBRARY.names.values() for entry in pool for word in entry.split()}
    words = {"glassworks", "harbourmaster's", "unfilmed"}  # which its dictionary lacks
    # What it takes for slips in "bread baskets", "the shipping line cancels a sailing", and behind
    # our colon.
    other = ("words long", "compound noun", "Oxford comma", "mass noun", "a capital", "written as")
    linter.import_words(sorted(names | {f"{name}'s" for name in names} | words))
    sentences: dict[str, None] = {}
    for row in rows[::3]:
        texts = [row["Variation text"], *row["Evaluation criteria"]]
        texts += [answer["text"] for answer in row["Right answers"]]
        parts = (part for text in texts for part in re.findall(r"[^.!?:\n]+[.!?:\n]*", text))
        sentences |= dict.fromkeys(part.strip() for part in parts if part.strip())
    for sentence in sentences:
        lints = linter.lint(sentence, language=Language.PLAINTEXT)
        found = [(lint.problem_text, lint.message) for lint in lints]
        assert [one for one in found if not any(why in one[1] for why in other)] == [], sentence
