"""The rewriting stage: proposals made again while the contract fails, by rule and by a model."""

import asyncio
import json
from dataclasses import replace

import pytest
from inspect_ai.model import GenerateConfig, ModelOutput
from tests.support.lines import write_lines

from contrafact.errors import InputError
from contrafact.families.rfc.contracts import Options
from contrafact.families.rfc.judging import Judging
from contrafact.families.rfc.labels import LENGTH_BANDS, load_bands
from contrafact.families.rfc.pipeline.edits import RewriteOutcome
from contrafact.families.rfc.pipeline.model_rewriter import (
    NOT_JUDGED,
    Decoding,
    ModelRewriter,
    load_decoding,
    open_templates,
)
from contrafact.families.rfc.pipeline.rewrite import (
    BY_MODEL_ALONE,
    Assignment,
    rewrite_by_rules,
    seed_of,
)
from contrafact.families.rfc.pipeline.rewrite_stage import RewriteStage
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.prompts import open_pack
from contrafact.records import NewsItem
from contrafact.stages.run import run_stage
from contrafact.stages.stage import KEPT, StageOutput
from contrafact.text.diff import token_count

ITEM = NewsItem.of(
    "Norrick Steel shares climb on Tuesday", "The shares rose 12% after strong sales in May."
)
GOOD = "Norrick Steel shares climb on Tuesday. The shares rose 20% after strong sales in May."
BAD = "Norrick Steel shares climb on Tuesday. The shares rose 12% after good sales in May."
WORSE = "Norrick Steel shares climb on Tuesday. Shares of Tallow & Finch fell 70% in May."


def assigned(manipulation="numerical", item=ITEM) -> Assignment:
    return Assignment(1, item, manipulation, {"title": item.title, "summary": item.summary})


class Scripted:
    """Answers with the given replies, in order, and keeps what it was asked."""

    config = GenerateConfig()

    def __init__(self, replies: tuple[str, ...]):
        self.replies = iter(replies)
        self.seen = []

    async def generate(self, messages, config, **_) -> ModelOutput:
        self.seen.append((messages, config))
        return ModelOutput.from_content("scripted", next(self.replies))


def writer(*replies: str, attempts: int = 3):
    templates = open_templates(open_pack())
    model = Scripted(replies)
    return ModelRewriter(model, templates, load_decoding(), 7, attempts), model.seen


def rewritten(rewriter: ModelRewriter, assignment: Assignment) -> RewriteOutcome:
    return asyncio.run(rewriter.rewrite(assignment))


def test_a_good_reply_is_kept_with_its_log():
    rewriter, seen = writer(f"<news>{GOOD}</news>\n")
    outcome = rewritten(rewriter, assigned())
    assert (outcome.rewritten, outcome.attempts, len(seen)) == (GOOD, 1, 1)
    (edit,) = outcome.edits
    paragraph = ITEM.paragraph
    assert paragraph[: edit.start] + edit.after + paragraph[edit.end :] == GOOD
    assert f"<news>{paragraph}</news>" in seen[0][0][-1].text


def test_what_every_earlier_proposal_broke_stays_in_the_conversation():
    rewriter, seen = writer(WORSE, BAD, GOOD)
    outcome = rewritten(rewriter, assigned())
    assert (outcome.rewritten, outcome.attempts) == (GOOD, 3)
    question, first, told, second, told_again = (message.text for message in seen[2][0])
    assert (first, second) == (WORSE, BAD)
    assert question == seen[0][0][0].text
    assert told != told_again and "'12%'" in told_again


def test_a_reply_is_limited_by_the_length_band_unless_the_decoding_file_says_otherwise():
    rewriter, seen = writer(BAD, attempts=1)
    rewritten(rewriter, assigned())
    limit = seen[0][1].max_tokens
    assert token_count(GOOD) < limit < 4 * token_count(GOOD)
    own = {name: Decoding(max_tokens=900) for name in MANIPULATIONS}
    rewriter, seen = writer(BAD, attempts=1)
    rewritten(replace(rewriter, decoding=own), assigned())
    assert seen[0][1].max_tokens == 900


def test_after_the_last_attempt_the_row_is_dropped_with_the_least_violations():
    rewriter, seen = writer(WORSE, BAD, WORSE)
    outcome = rewritten(rewriter, assigned())
    assert (outcome.rewritten, outcome.attempts, len(seen)) == (None, 3, 3)
    assert [violation["rule"] for violation in outcome.violations] == ["quantity-unchanged"]
    assert outcome.reason == "breaks its contract: quantity-unchanged"


def test_a_list_is_not_made_into_a_paragraph_on_the_model_s_behalf():
    rewriter, _ = writer("- Norrick Steel rose 20%\n- Sales were strong", attempts=1)
    rules = {violation["rule"] for violation in rewritten(rewriter, assigned()).violations}
    assert "list-or-markup" in rules


@pytest.mark.parametrize(
    ("manipulation", "settings"),
    [
        ("flipping", (0.2, 0.8, 0.2)),
        ("numerical", (0.1, 0.3, 0.0)),
        ("sentiment", (0.3, 0.9, 0.3)),
        ("causal", (0.3, 0.8, 0.2)),
    ],
)
def test_each_manipulation_has_its_decoding_settings(manipulation, settings):
    rewriter, seen = writer(BAD, attempts=1)
    rewritten(rewriter, assigned(manipulation))
    config = seen[0][1]
    assert (config.temperature, config.top_p, config.frequency_penalty) == settings


def test_decoding_settings_come_from_a_file_and_are_checked(tmp_path):
    path = tmp_path / "decoding.toml"
    path.write_text("".join(f"[{name}]\ntemperature = 0.7\n" for name in MANIPULATIONS))
    assert {setting.temperature for setting in load_decoding(path).values()} == {0.7}
    for text, message in (
        ("[flipping]\ntemperature = 0.7\n", "causal"),
        ("".join(f"[{name}]\ntemprature = 1\n" for name in MANIPULATIONS), "temprature"),
        ("[flipping", "not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            load_decoding(path)


FLIPPED = "Norrick Steel shares slide on Tuesday. The shares fell 12% after weak sales in May."
TURNED = {"reversed": True, "coherent": True, "nothing_added": True}


def verdicts(words="fell 12%", **said) -> str:
    return json.dumps(
        {name: {"words": words, "value": value} for name, value in (TURNED | said).items()}
    )


def judged(replies, judge, attempts=3):
    rewriter, seen = writer(*replies, attempts=attempts)
    judges = [Scripted(judge)]
    return replace(rewriter, judges=judges, judging=Judging(structured=False)), seen, judges[0].seen


def test_without_a_judge_what_facts_leave_open_is_kept_and_undecided():
    rewriter, _ = writer(FLIPPED)
    outcome = rewritten(rewriter, assigned("flipping"))
    assert (outcome.rewritten, outcome.undecided) == (FLIPPED, NOT_JUDGED)
    made = StageOutput()
    stage = RewriteStage(model="m")
    stage.add(made, assigned("flipping"), outcome)
    (row,), ((_, event),) = made.table(KEPT), made.events
    assert (row["passed"], row["undecided"]) == (None, NOT_JUDGED)
    assert "undecided" in event.why
    numerical, _ = writer(GOOD)
    stage.add(made, assigned(), rewritten(numerical, assigned()))
    _, row = made.table(KEPT)
    assert row["passed"] is True and "undecided" not in row


def test_what_a_judge_fails_is_written_again_with_its_reason():
    better = FLIPPED.replace("slide", "drop")
    rewriter, seen, asked = judged(
        (FLIPPED, better), (verdicts("slide on Tuesday", reversed=False), verdicts())
    )
    outcome = rewritten(rewriter, assigned("flipping"))
    assert (outcome.rewritten, outcome.attempts, outcome.undecided) == (better, 2, "")
    assert len(asked) == 2
    assert "'slide on Tuesday'" in seen[1][0][-1].text


def test_a_judge_is_asked_of_no_pair_that_facts_decide():
    rewriter, _, asked = judged((GOOD,), ())
    assert rewritten(rewriter, assigned()).undecided == ""
    rewriter, _, asked = judged((ITEM.paragraph, FLIPPED), (verdicts(),))
    assert rewritten(rewriter, assigned("flipping")).attempts == 2
    assert len(asked) == 1


def test_an_invalid_verdict_leaves_a_pair_undecided_and_writes_nothing_again():
    rewriter, seen, _ = judged((FLIPPED,), (verdicts("words of another text"),))
    outcome = rewritten(rewriter, assigned("flipping"))
    assert (outcome.rewritten, len(seen)) == (FLIPPED, 1)
    assert "no verdict on reversed" in outcome.undecided


def test_what_a_judge_fails_to_the_last_is_dropped_with_what_it_says():
    rewriter, _, _ = judged((FLIPPED, FLIPPED), (verdicts(coherent=False),) * 2, attempts=2)
    outcome = rewritten(rewriter, assigned("flipping"))
    assert outcome.rewritten is None
    assert outcome.reason == "breaks its contract: meaning-coherent"


def test_a_band_of_a_calibration_takes_the_papers_place(tmp_path):
    found = [{"manipulation": "numerical", "band": [1.5, 1.6]}]
    path = tmp_path / "bands.json"
    path.write_text(
        json.dumps({"manipulations": [*found, {"manipulation": "causal", "band": None}]})
    )
    bands = load_bands(path)
    assert bands == {**LENGTH_BANDS, "numerical": (1.5, 1.6)}
    rewriter, _ = writer(GOOD, attempts=1)
    outcome = rewritten(replace(rewriter, options=Options(bands=bands)), assigned())
    assert outcome.reason == "breaks its contract: length-band"
    assert "length-band" in rewrite_by_rules(assigned(), seed=3, attempts=2, bands=bands).reason
    path.write_text('{"manipulations": [{"manipulation": "causal", "band": [2, 1]}]}')
    for text in (path.read_text(), "{}", "[", '{"manipulations": [{"band": [1, 2]}]}'):
        path.write_text(text)
        with pytest.raises(InputError, match="calibrate --out"):
            load_bands(path)


def test_rules_keep_what_passes_and_leave_meaning_to_a_model():
    kept = rewrite_by_rules(assigned(), seed=3, attempts=8)
    assert kept.rewritten is not None
    assert (kept.violations, kept.undecided) == ((), "")
    for manipulation in ("flipping", "sentiment", "causal"):
        dropped = rewrite_by_rules(assigned(manipulation), seed=3, attempts=8)
        assert (dropped.rewritten, dropped.reason) == (None, BY_MODEL_ALONE)


def test_every_try_has_a_seed_of_its_own():
    seeds = {seed_of(1, "n1", manipulation, t) for manipulation in MANIPULATIONS for t in (1, 2)}
    assert len(seeds | {seed_of(2, "n1", "causal", 1), seed_of(1, "n2", "causal", 1)}) == 10


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        ([{"title": "Prices rise"}], 1, "no manipulation"),
        ([{"title": "Prices rise", "manipulation": "No-Categorized"}], 1, "unknown manipulation"),
        ([{"title": "Rise", "manipulation": "causal"}, {"manipulation": "causal"}], 2, "title"),
        ([{"title": "Prices rise", "manipulation": "causal"}] * 2, 2, "repeats line 1"),
        ([{"title": ["Prices"], "manipulation": "causal"}], 1, "not text"),
    ],
)
def test_bad_rows_are_reported_by_line(tmp_path, rows, line, message):
    path = write_lines(tmp_path / "in.jsonl", rows)
    with pytest.raises(InputError, match=message) as error:
        run_stage(RewriteStage(), path)
    assert error.value.line == line
