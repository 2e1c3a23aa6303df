"""``python -m contrafact.families.cobe.synth.verify``: draw many stories, look for a wrong one.

Every story is checked when it is drawn, after it went through the form of a file and back. What
is looked for besides: a story drawn twice, a criterion about what is not determined, a wrong answer
that reads like a right one. The work is shared among processes by seed.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from contrafact.families.cobe.data import KnownStory, read_story
from contrafact.families.cobe.synth.answers import story_record
from contrafact.families.cobe.synth.check import check_story
from contrafact.families.cobe.synth.draw import draw_stories
from contrafact.families.cobe.synth.template import bundled_templates
from contrafact.workers import end_with_parent

__all__ = ["main", "violations"]

_SHARE = 5_000


def violations(drawn: KnownStory) -> list[str]:
    """Return what is wrong with a story, as a reader of its file finds it; nothing if all holds."""
    template = next(t for t in bundled_templates() if t.id == (drawn.story.proof or {})["template"])
    made = story_record(drawn)
    record = json.loads(json.dumps(made))
    # What was made was checked when it was drawn.
    found = check_story(template, record) if record != made else []
    if read_story(record) != drawn.story:
        found.append("it comes back from its file as another story")
    right = {answer["text"] for answer in record["Right answers"]}
    found += [
        "a wrong answer is a right one" for a in record["Wrong answers"] if a["text"] in right
    ]
    if record["Variation text"] in right:
        found.append("the story itself is a right answer")
    for name, one in record["Proof"]["consequences"].items():
        if one["kind"] == "undetermined" and name in template.stated:
            variable = template.stated[name].clauses.values()
            words = record["Proof"]["words"]
            quoted = " ".join(record["Evaluation criteria"]).lower()
            if any(clause.realized({**words, "n": ""}).lower() in quoted for clause in variable):
                found.append(f"a criterion is about '{name}', which is not determined")
    return found


def _batch(seed: int, n: int) -> tuple[list[str], Counter[str]]:
    found: list[str] = []
    texts: set[str] = set()
    counts: Counter[str] = Counter()
    for drawn in draw_stories(bundled_templates(), n, seed):
        found += [f"seed {seed}, {drawn.story.id}: {problem}" for problem in violations(drawn)]
        texts.add(drawn.story.text)
        counts["right answers"] += len(drawn.right)
        counts.update(f"wrong answers for {answer.fails}" for answer in drawn.wrong)
        kinds = [one["kind"] for one in (drawn.story.proof or {})["consequences"].values()]
        counts["stories with something not determined"] += "undetermined" in kinds
    if len(texts) != n:
        found.append(f"seed {seed}: {n - len(texts)} stories are drawn twice")
    return found, counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw and check; print what was seen. Return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m contrafact.families.cobe.synth.verify")
    parser.add_argument("--n", type=int, default=100_000, help="how many stories")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args(arguments)
    sizes = [min(_SHARE, options.n - start) for start in range(0, options.n, _SHARE)]
    started = time.monotonic()
    found: list[str] = []
    counts: Counter[str] = Counter()
    seeds = range(options.seed, options.seed + len(sizes))
    with ProcessPoolExecutor(options.processes, initializer=end_with_parent) as pool:
        for done, (problems, counted) in enumerate(pool.map(_batch, seeds, sizes), start=1):
            found += problems
            counts += counted
            print(f"stories: {sum(sizes[:done]):,}/{options.n:,}", file=sys.stderr, flush=True)
    for problem in found[:20]:
        print(problem)
    for name, number in sorted(counts.items()):
        print(f"{number:>9,} {name}")
    seconds = time.monotonic() - started
    print(f"{options.n:>9,} stories in {seconds:.0f} s: {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
