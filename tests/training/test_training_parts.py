"""The parts of a training that need no model: scores, new items, preferences, judges, stages."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.family import training_specs
from contrafact.files.journal import Journal
from contrafact.training import generation
from contrafact.training.config import TrainConfig
from contrafact.training.context import TrainingContext, run_stage, stage_journal
from contrafact.training.generation import Candidate, Reply
from contrafact.training.judging import read_score, score_candidates
from contrafact.training.preferences import ScoredCandidate, pair_up

SPEC = training_specs()["finforce"]
HEADLINE = "Dunmar central bank raises its rate to 6% as food prices climb"
PAIR = {
    "risk": "Dunmar central bank's rate of 6% sinks housing shares as loan losses mount",
    "opportunity": "Dunmar central bank's rate of 6% steadies food prices and lifts bank profits",
}


def training(folder: Path, **config: Any) -> TrainingContext:
    """A training with these keys in its config."""
    given = {"family": "finforce", "model": "m", "items": {"count": 1}, **config}
    return TrainingContext(TrainConfig.model_validate(given), SPEC, folder, print)


# Scores


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
        *((f"score: {one}", None) for one in ("8/100", "8,5", "7 or 8", "3-4", "1e1", "9%")),
        ("score: 8/10", 8.0),
        ("", None),
    ],
)
def test_a_score_is_read_or_it_is_none(reply, score):
    found, reason = read_score(reply)
    assert found == score
    assert (reason is None) == (score is not None)


# New items


def test_a_headline_that_says_again_what_was_asked_is_none(tmp_path, monkeypatch):
    context = training(tmp_path, items={"count": 1, "tries": 2})
    asked = " ".join(context.prompts.new_item([]).split()[-9:])
    replies = iter([f"Copper hits a record, {asked}", "Copper hits a record as mines close"])

    def write(causal: Any, prompts: dict[str, str], **_: Any) -> dict[str, Reply]:
        return {key: Reply(next(replies), True) for key in prompts}

    monkeypatch.setattr(generation, "generate_replies", write)
    with Journal(tmp_path / "journal", {}) as journal:
        made = generation.generate_items(
            context,
            None,  # nothing is written by a model here
            ["Grain exports rise in Odesa"],
            [],
            iteration=1,
            journal=journal,
        )
    kept, rejected = made
    assert kept == ["Copper hits a record as mines close"]
    assert [reason for _, reason in rejected] == ["repeats the prompt"]


# Preferences


def scored(headline: str, text: str, score: float | None, **more: Any) -> ScoredCandidate:
    return ScoredCandidate(headline, text, True, more.pop("valid", True), score, **more)


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
    assert [(one["chosen"], one["rejected"]) for one in made] == [("x", "y")]
    assert (figures["ties"], figures["within_margin"], figures["alone"], figures["pairs"]) == (
        1,
        1,
        1,
        1,
    )
    assert figures["unscored"] == 1
    assert figures["unreadable_replies"] == 3
    assert figures["tie_share"] == pytest.approx(1 / 3)
    assert figures["spread"] == pytest.approx((8 + 0 + 0.5) / 3)


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
    counted = figures["ties"] + figures["within_margin"] + figures["alone"] + figures["pairs"]
    assert counted == figures["items"] == len({h for h, _, _ in given_scores})
    for one in made:
        assert one["chosen_score"] - one["rejected_score"] > margin
        assert one["chosen"] != one["rejected"]


# Judges


def candidates() -> list[Candidate]:
    good = SPEC.reply(HEADLINE, PAIR)
    return [
        Candidate(key, HEADLINE, Reply(text, True))
        for key, text in {"a": good, "b": "no JSON", "c": good.replace("mount", "grow")}.items()
    ]


def never() -> Any:
    raise AssertionError("the model that is trained is not asked")


def test_another_model_judges_and_what_cannot_be_read_is_counted(tmp_path, monkeypatch):
    from inspect_ai.model import ModelOutput

    async def like(*_: object, **__: object) -> ModelOutput:
        return ModelOutput.from_content("mockllm/model", "I like it.")

    monkeypatch.setattr("inspect_ai.model.Model.generate", like)
    context = training(tmp_path, judge={"by": "mockllm/model", "samples": 2})
    with Journal(tmp_path / "journal", {}) as replies:
        replies.keep("a judged 0", "score: 6")  # from a start that was killed
        replies.keep("a judged 1", "score: 7")
        scored, reasons = score_candidates(context, candidates(), never, replies)
    assert [(one.score, one.valid, one.unreadable) for one in scored] == [
        (6.5, True, 0),
        (0.0, False, 0),  # no judge is called about what cannot be read
        (None, True, 2),  # never a score
    ]
    assert reasons == {"no 'score: …' in the reply": 2}


def test_a_judge_that_cannot_be_opened_or_fails_is_an_error_and_no_score(tmp_path, monkeypatch):
    def ask(name: str) -> None:
        context = training(tmp_path, judge={"by": name, "samples": 1})
        with Journal(tmp_path / "journal", {}) as journal:
            score_candidates(context, candidates(), never, journal)

    with pytest.raises(InputError, match="cannot use the model 'nobody/here'"):
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
        with stage_journal(folder) as journal:
            seen.append(dict(journal.known))
            journal.keep("first", [1])
            if len(seen) == 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stage(tmp_path / "stage", work)
    assert not (tmp_path / "stage").exists()
    with (tmp_path / ".stage.part" / ".journal.jsonl").open("a") as stream:
        stream.write('{"key": "second", [')  # torn by the kill
    assert run_stage(tmp_path / "stage", work)
    assert seen == [{}, {"first": [1]}]
    assert list((tmp_path / "stage").iterdir()) == []  # the journal has had its use
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
