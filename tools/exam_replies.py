"""Records the replies of judges that the demo's exam shows, so that the demo calls no model for it.

``python tools/exam_replies.py prompts DIR`` writes every prompt to ``DIR/ID.txt``, for a judge that
answers elsewhere, to ``DIR/ID.reply``; ``… keep DIR NAME`` keeps these replies under the judge's
name; ``… ask MODEL`` asks a model and keeps its replies.
"""

import asyncio
import gzip
import json
import sys
from pathlib import Path

from contrafact.exams.recorded import prepare_recorded
from contrafact.exams.run import PreparedExam
from contrafact.families.cobe.exam import RECORDED, recorded_exam
from contrafact.family import family_named
from contrafact.models.opening import open_model


def main(action: str, place: str, name: str = "") -> None:
    """Write the prompts, or keep the replies."""
    if not RECORDED.exists():
        keep({"templates": {}, "replies": {}})
    exam = recorded_exam()
    prepared = prepare_recorded(family_named("cobe"), exam, "", [*exam.items, *exam.sample])
    calls = {call.prompt_hash: call for call in prepared.questions}
    folder = Path(place)
    if action == "prompts":
        folder.mkdir(parents=True, exist_ok=True)
        for key, call in calls.items():
            (folder / f"{key}.txt").write_text(call.prompt, encoding="utf-8")
        print(f"{len(calls)} prompts in {folder}")
        return
    if action == "ask":
        replies = asyncio.run(ask(prepared, place))
    else:
        replies = {key: (folder / f"{key}.reply").read_text("utf-8").strip() for key in calls}
    templates = {template: prepared.pack.used[template] for template in exam.templates}
    keep({"templates": templates, "replies": {**exam.replies, name or place: replies}})
    print(f"{len(replies)} replies in {RECORDED}, {RECORDED.stat().st_size:,} bytes")


async def ask(prepared: PreparedExam, model: str) -> dict[str, str]:
    """Return a model's replies, one after the other."""
    asks, judge, replies = prepared.examiner.ask, open_model(model), {}
    assert asks is not None
    for call in prepared.questions:
        (verdict,) = await asks(judge, (call.criterion,), call.prompt, None, call.shown)
        replies[call.prompt_hash] = verdict.reply
    return replies


def keep(given: dict[str, object]) -> None:
    """Write the file; the same replies give the same bytes."""
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    RECORDED.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
