"""Make the set of written stories that ships from what `contrafact cobe write` wrote.

    python tools/written_set.py FILE… --leave-out ID,ID

Stories of one core set share their facts, so they stay together: of each type of graph, half of the
core sets are public and half are held out. What is right for held-out stories is encoded
(`contrafact.families.cobe.data.encoded`). The folder gets both halves and Croissant
metadata (its card, `README.md`, is written by hand); the same files give the same bytes.
"""

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path

from contrafact.corpus.release import CROISSANT, Facts, croissant_of, json_text
from contrafact.families.cobe.data import ENCODED, encoded
from contrafact.families.cobe.write.answers import check_written

OUT = Path(__file__).parents[1] / "src" / "contrafact" / "families" / "cobe" / "written"
HIDDEN = ("Representative answer", "Evaluation criteria", "Right answers", "Wrong answers", "Proof")
DATE = "2026-11-30"
FIELDS = {
    "Core Set ID": ("integer", "The core set; stories of one have the same facts."),
    "Variation ID": ("integer", "The story in its core set."),
    "Domain": ("string", "One of the paper's seven domains."),
    "Variation text": ("string", "The story."),
    "Query": ("string", "A list: the request in three phrasings."),
    "Graph type": ("string", "One of the paper's six types of causal graph."),
}


def rows_of(paths, left_out):
    """Return the stories of all files, core sets numbered through; each story proves itself."""
    rows, core = [], 0
    for path in paths:
        numbers = {}
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            name = f"{Path(path).stem}:{row['Core Set ID']}v{row['Variation ID']}"
            if name in left_out:
                continue
            if problems := check_written(row):
                raise SystemExit(f"{name}: {problems}")
            before = row["Core Set ID"]
            if before not in numbers:
                core += 1
                numbers[before] = 8_000 + core
            row["Core Set ID"] = numbers[before]
            row["Proof"]["template"] = f"written {numbers[before]}"
            rows.append(row)
    return rows


def halves(rows):
    """Return the public and the held-out stories: of each type of graph about half."""
    cores = defaultdict(list)
    for row in rows:
        cores[row["Core Set ID"]].append(row)
    sizes, public, held = Counter(), [], []
    for stories in sorted(cores.values(), key=len, reverse=True):
        graph = stories[0]["Graph type"]
        side = min(("public", "held"), key=lambda one: (sizes[graph, one], sizes[one]))
        sizes[graph, side] += len(stories)
        sizes[side] += len(stories)
        (public if side == "public" else held).extend(stories)
    order = lambda row: (row["Core Set ID"], row["Variation ID"])  # noqa: E731
    return sorted(public, key=order), sorted(held, key=order)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--leave-out", default="")
    given = parser.parse_args()
    public, held = halves(rows_of(given.files, {*given.leave_out.split(",")}))
    hidden = [
        {key: row[key] for key in row if key not in HIDDEN}
        | {ENCODED: encoded({key: row[key] for key in row if key in HIDDEN})}
        for row in held
    ]
    OUT.mkdir(exist_ok=True)
    sets = {"public.jsonl": public, "held-out.jsonl": hidden}
    texts = {
        name: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        for name, rows in sets.items()
    }
    for name, text in texts.items():
        (OUT / name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(sets[name])} stories, {len(text):,} bytes")
    facts = Facts(name="cobe-written", version="1.0.0", license="Apache-2.0", date=DATE)
    about = "Short stories, each with a request to change one thing, written to drawn structures."
    metadata = croissant_of(facts, about, FIELDS, texts)
    for part in metadata["recordSet"]:
        part["key"] = [{"@id": f"{part['name']}/{key}"} for key in ("Core Set ID", "Variation ID")]
    (OUT / CROISSANT).write_text(json_text(metadata), encoding="utf-8")
    for key in ("Graph type", "Domain"):
        print({side: dict(Counter(row[key] for row in sets[side])) for side in sets})


if __name__ == "__main__":
    main()
