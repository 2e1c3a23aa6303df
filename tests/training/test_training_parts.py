"""The parts of a training that need no model: answers, checks, headlines, preferences."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.prompts import open_pack
from contrafact.records import ForwardPair
from contrafact.training import headlines
from contrafact.training.checks import check_pairs
from contrafact.training.config import Headlines, JudgeSettings
from contrafact.training.dialogue import (
    Dialogue,
    answer_text,
    pair_of,
    read_answer,
    read_score,
)
from contrafact.training.headlines import headline_of
from contrafact.training.judging import Candidate, by_inspect, score_candidates
from contrafact.training.preferences import Scored, pair_up
from contrafact.training.stages import Journal, alone, run_stage
from contrafact.training.writing import Reply

HEADLINE = "Dunmar central bank raises its rate to 6% as food prices climb"
PAIR = ForwardPair(
    risk="Dunmar central bank's rate of 6% sinks housing shares as loan losses mount",
    opportunity="Dunmar central bank's rate of 6% steadies food prices and lifts bank profits",
)


# Dialogue


def test_an_answer_is_read_back_as_it_was():
    assert pair_of(read_answer(answer_text(HEADLINE, PAIR))) == PAIR


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("score: 7", 7.0),
        ("**Score: 7**\nBecause it holds.", 7.0),
        ('"score": 10', 10.0),
        ("Score: 6.5 of 10. I repeat, score: 6.5", 6.5),
        ("score: 0", 0.0),
        ("7", None),
        ("score: 11", None),
        ("score: -1", None),
        ("score: 3 or perhaps score: 4", None),
        ("score: <total points>", None),
        ("", None),
    ],
)
def test_a_score_is_read_or_it_is_none(reply, score):
    found, reason = read_score(reply)
    assert found == score
    assert (reason is None) == (score is not None)


# Built-in checks


def points(risk: str, opportunity: str, headline: str = HEADLINE) -> Any:
    text = answer_text(headline, ForwardPair(risk=risk, opportunity=opportunity))
    return check_pairs([headline], [read_answer(text)])[0]


def test_a_good_pair_beats_its_faults_and_what_cannot_be_read_has_nothing():
    best = points(PAIR.risk, PAIR.opportunity)
    assert best.score > 7
    assert points(PAIR.opportunity, PAIR.risk).score < best.score  # the wrong way round
    copied = points(HEADLINE, HEADLINE + " today")
    assert copied.sides["risk"]["forward"] == 0
    assert copied.score < best.score
    assert points("Shoes are nice to have", PAIR.opportunity).score < best.score  # off the subject
    assert points(f"Risk: {PAIR.risk}", PAIR.opportunity).sides["risk"]["form"] == 0
    numbers = points(PAIR.risk + " by 40%", PAIR.opportunity)
    assert numbers.sides["risk"]["forward"] == 0
    unread = check_pairs([HEADLINE], [read_answer("Sorry, I cannot do that.")])[0]
    assert (unread.score, unread.sides) == (0, {})


def test_a_reply_that_has_to_be_mended_loses_a_point():
    clean = answer_text(HEADLINE, PAIR)
    whole, repairs = check_pairs(
        [HEADLINE] * 2, [read_answer(clean), read_answer(f"Here you are: {clean}")]
    )
    assert whole.score == pytest.approx(repairs.score + 1)


# New headlines


@pytest.mark.parametrize(
    ("text", "headline", "reason"),
    [
        (
            '"Brant Air halts its flights to Velmora"',
            "Brant Air halts its flights to Velmora",
            None,
        ),
        ("Headline: Osk Mills cuts its grain exports", "Osk Mills cuts its grain exports", None),
        ("<example>Osk Mills cuts grain exports</example>", "Osk Mills cuts grain exports", None),
        ("Osk Mills cuts grain exports\nIt said so.", "Osk Mills cuts grain exports", None),
        ("  ", "", "no text"),
        ("Shares fall", "Shares fall", "under 4 words"),
        ("Osk Mills <|im_end|> cuts grain exports", None, "holds a tag or invisible characters"),
        ("Osk Mills cuts grain as Osk Mills cuts grain", None, "says the same words twice"),
    ],
)
def test_a_headline_is_found_in_a_reply_or_refused_with_a_reason(text, headline, reason):
    found, why = headline_of(Reply(text, ended=True))
    assert why == reason
    assert headline is None or found == headline


def test_a_headline_that_was_cut_off_is_none():
    assert headline_of(Reply("Osk Mills cuts its grain", ended=False))[1] == (
        "cut off at the token limit"
    )


# Preferences


def scored(headline: str, text: str, score: float | None, **more: Any) -> Scored:
    return Scored(headline, text, True, more.pop("valid", True), score, **more)


def test_a_headline_that_says_again_what_was_asked_is_none(tmp_path, monkeypatch):
    dialogue = Dialogue(open_pack(None))
    said = " ".join(dialogue.ask_headline([]).split()[-9:])
    replies = iter([f"Copper hits a record, {said}", "Copper hits a record as mines close"])

    def write(causal: Any, prompts: dict[str, str], **_: Any) -> dict[str, Reply]:
        return {key: Reply(next(replies), True) for key in prompts}

    monkeypatch.setattr(headlines, "write_replies", write)
    made = headlines.write_headlines(
        None,  # nothing is written by a model here
        dialogue,
        ["Grain exports rise in Odesa"],
        [],
        Headlines(count=1, tries=2),
        seed=0,
        iteration=1,
        journal=Journal(tmp_path / "journal"),
    )
    assert made.kept == ("Copper hits a record as mines close",)
    assert [reason for _, reason in made.rejected] == ["repeats what was asked"]


def test_the_best_is_set_against_the_worst_and_ties_are_counted():
    made, figures = pair_up(
        [
            *(scored("a", text, score) for text, score in zip("wxyz", (3, 9, 1, 5), strict=True)),
            *(scored("b", text, 4) for text in "wxyz"),
            *(scored("c", text, score) for text, score in zip("wx", (4, 4.5), strict=True)),
            scored("d", "w", 4),
            scored("d", "x", None, unreadable=3),
        ],
        margin=0.5,
    )
    assert [(one.chosen, one.rejected) for one in made] == [("x", "y")]
    assert (figures.ties, figures.within_margin, figures.alone, figures.pairs) == (1, 1, 1, 1)
    assert figures.unscored == 1
    assert figures.unreadable_replies == 3
    assert figures.tie_share == pytest.approx(1 / 3)
    assert figures.spread == pytest.approx((8 + 0 + 0.5) / 3)


def test_the_same_reply_is_never_preferred_to_itself():
    made, figures = pair_up([scored("a", "x", 2), scored("a", "x", 9)], margin=0)
    assert made == []
    assert figures.alone == 1


def test_an_unreadable_reply_is_never_chosen():
    made, _ = pair_up([scored("a", "x", 3, valid=False), scored("a", "y", 1)], margin=0)
    assert made == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from("uvwxyz"),
            st.none() | st.integers(0, 10).map(float),
        ),
        max_size=30,
    ),
    st.floats(0, 9),
)
def test_every_headline_is_counted_once_and_pairs_keep_the_margin(given_scores, margin):
    made, figures = pair_up([scored(h, t, s) for h, t, s in given_scores], margin=margin)
    counted = figures.ties + figures.within_margin + figures.alone + figures.pairs
    assert counted == figures.headlines == len({h for h, _, _ in given_scores})
    for one in made:
        assert one.chosen_score - one.rejected_score > margin
        assert one.chosen != one.rejected


# Judges


def candidates() -> list[Candidate]:
    good = answer_text(HEADLINE, PAIR)
    return [
        Candidate(key, HEADLINE, Reply(text, True))
        for key, text in {"a": good, "b": "no JSON", "c": good.replace("mount", "grow")}.items()
    ]


def test_another_model_judges_and_what_cannot_be_read_is_counted(tmp_path, monkeypatch):
    from inspect_ai.model import ModelOutput

    async def like(*_: object, **__: object) -> ModelOutput:
        return ModelOutput.from_content("mockllm/model", "I like it.")

    monkeypatch.setattr("inspect_ai.model.Model.generate", like)
    settings = JudgeSettings(by="mockllm/model", samples=2)
    replies = Journal(tmp_path / "journal")
    replies.keep("a judged 0", "score: 6")  # from a start that was killed
    replies.keep("a judged 1", "score: 7")
    judge = by_inspect(settings, seed=0, journal=replies)
    scored, reasons = score_candidates(candidates(), Dialogue(open_pack()), settings, judge)
    assert [(one.score, one.valid, one.unreadable) for one in scored] == [
        (6.5, True, 0),
        (0.0, False, 0),  # nobody is asked about what cannot be read
        (None, True, 2),  # never a score
    ]
    assert reasons == {"no 'score: …' in the reply": 2}


def test_a_judge_that_cannot_be_had_or_fails_is_an_error_and_no_score(tmp_path, monkeypatch):
    def ask(name: str) -> None:
        settings = JudgeSettings(by=name, samples=1)
        judge = by_inspect(settings, seed=0, journal=Journal(tmp_path / "journal"))
        score_candidates(candidates(), Dialogue(open_pack()), settings, judge)

    with pytest.raises(InputError, match="the judge 'nobody/here' cannot be had"):
        ask("nobody/here")

    async def refuse(*_: object, **__: object) -> None:
        raise ValueError("the service is gone")

    monkeypatch.setattr("inspect_ai.model.Model.generate", refuse)
    with pytest.raises(InputError, match=r"failed: .*the service is gone.*repeat the command"):
        ask("mockllm/model")


# Stages


def test_a_stage_is_whole_or_not_there_and_goes_on_from_its_journal(tmp_path):
    seen = []

    def work(folder: Path) -> None:
        journal = Journal(folder / "journal")
        seen.append("first" in journal)
        journal.keep("first", [1])
        if len(seen) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stage(tmp_path / "stage", work)
    assert not (tmp_path / "stage").exists()
    with (tmp_path / ".stage.part" / "journal").open("a") as stream:
        stream.write('["second", [')  # torn by the kill
    assert run_stage(tmp_path / "stage", work)
    assert seen == [False, True]
    assert Journal(tmp_path / "stage" / "journal")["first"] == [1]
    assert not run_stage(tmp_path / "stage", work)
    assert len(seen) == 2


def test_a_full_disk_is_one_line_and_the_stage_is_not_there(tmp_path):
    def work(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise RuntimeError(
            "Error while serializing: I/O error: No space left on device (os error 28)"
        )

    with pytest.raises(InputError, match="no space left on device; free some space"):
        run_stage(tmp_path / "stage", work)
    assert not (tmp_path / "stage").exists()


def test_two_trainings_do_not_share_a_folder(tmp_path):
    with alone(tmp_path), pytest.raises(InputError, match="another process"), alone(tmp_path):
        pass
