"""A reader behind a service: its recorded replies, served in OpenAI's protocol."""

import gzip
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from tests.support.loopback import Loopback

from contrafact.families.cobe.data import subject_of
from contrafact.families.cobe.exam import retold_known
from contrafact.families.cobe.read.question import asked_facts, reader_prompt, reader_template
from contrafact.families.cobe.reward import edit_reward
from contrafact.families.cobe.verifier import decisions, opened
from contrafact.family.exam_file import read_exam
from contrafact.prompts import open_pack

READINGS = Path(__file__).parents[3] / "docs" / "readings" / "retold.jsonl.gz"
READER = "openai-api/local/reader"


@cache
def readings():
    with gzip.open(READINGS, "rt", encoding="utf-8") as lines:
        return {row["retold"]: row for row in map(json.loads, lines)}


@cache
def known():
    return [(one.story, answer) for one in retold_known() for answer in (*one.right, *one.wrong)]


@cache
def recorded():
    """Return the two replies to every retold answer, by the prompt that asks for each."""
    template, replies = reader_template(open_pack()), {}
    for story, answer in known():
        facts = opened(subject_of(story, answer.text))
        for attempt, reply in enumerate(readings()[answer.text]["replies"]):
            asked = asked_facts(facts, answer.text, attempt)
            replies[reader_prompt(template, story.text, answer.text, asked)] = reply
    return replies


class Reader(Loopback):
    """Replies as a language model did; told to fail, it says nothing of use."""

    def __init__(self):
        self.asked = Counter()
        self.fails = False
        super().__init__()

    def answer(self, handler):
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        prompt = request["messages"][-1]["content"]
        self.asked[prompt] += 1
        content = "Who can say?" if self.fails else recorded()[prompt]
        reply = {
            "id": "1", "object": "chat.completion", "created": 0, "model": request["model"],
            "choices": [{"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": content}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }  # fmt: skip
        body = json.dumps(reply).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        self.send(handler, 200, headers, body)


@pytest.fixture
def reader(monkeypatch):
    server = Reader()
    monkeypatch.setenv("LOCAL_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    yield server
    server.close()


def test_no_recorded_reading_decides_a_verdict_wrong_and_all_but_two_are_decided():
    outcomes, grammar = Counter(), Counter()
    for story, answer in known():
        subject = subject_of(story, answer.text)
        alone = decisions(subject)
        read = decisions(subject | {"readings": readings()[answer.text]["replies"]})
        for name, passes in answer.verdicts.items():
            outcomes["open" if read[name].passed is None else read[name].passed is passes] += 1
            grammar[alone[name].passed] += 1
    assert set(grammar) == {None}
    assert outcomes[False] == 0 and outcomes["open"] <= 2
    assert outcomes[True] > 1500


@pytest.mark.slow
def test_an_exam_with_a_reader_puts_retold_answers_and_asks_once_or_twice(
    reader, quick_contrafact, tmp_path
):
    command = ("exam", "--judge", "proof", "--reader", READER, "--family", "cobe", "--n", "40")
    environment = {name: os.environ[name] for name in ("LOCAL_BASE_URL", "LOCAL_API_KEY")}
    run = quick_contrafact(*command, "--out", "exam.json", env=environment)
    assert run.returncode == 0, run.stderr
    exam = read_exam(tmp_path / "exam.json")
    assert exam.judge == f"verifier/proof:{READER}"
    for figures in exam.criteria.values():
        assert figures.sensitivity.estimate == figures.specificity.estimate == 1.0
    assert 40 <= reader.asked.total() <= 50 and set(reader.asked.values()) == {1}


def test_a_reward_is_read_and_a_reader_that_fails_gives_none(reader):
    story, answer = next(pair for pair in known() if pair[1].fails is None)
    _, wrong = next(pair for pair in known() if pair[0] is story and pair[1].fails is not None)
    reward = edit_reward("proof", reader=READER)
    texts = [answer.text, wrong.text]
    assert reward(["", ""], texts, story=[story, story]) == [1.0, 0.0]
    reader.fails = True
    again = edit_reward("proof", reader=f"{READER}-again")
    assert again(["", ""], texts, story=[story, story]) == [None, None]
    assert edit_reward("proof")(["", ""], texts, story=[story, story]) == [0.0, 0.0]
