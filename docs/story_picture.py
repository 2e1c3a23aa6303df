"""Draws ``docs/images/story.svg``: a written story, its request, a right and a wrong edit.

All texts and verdicts are of ``docs/readings/written-pilot.jsonl.gz``. Marked are words that a
reader quoted: in the right edit for what has to change, in the wrong one for the criterion that it
fails. Called as ``python docs/story_picture.py``.
"""

import gzip
import json
import re
import textwrap
from html import escape
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
TARGET = DOCS / "images" / "story.svg"
STORY, MISTAKE = 5003, "backtracks"
WIDTH, MARGIN, SIZE, LINE = 840, 4, 15, 22
CHANGES, STAYS = ("set", "changes"), ("stays",)
CRITERIA = {
    "E1": "What does not follow from the change stays",
    "E2": "What follows from the change is different",
    "E3": "Causes and effects are joined the right way",
    "E4": "The number goes the right way",
}
WHY = {
    "ok": ("The goats stay away, so the beans survive.", "The gate is open, as it was."),
    "bad": ("The request changes the goats, not the gate:", "Ivor still forgot to shut it."),
}
STYLE = """
.card{fill:#fff;stroke:#b0bec5}.right{fill:#f1f8f4;stroke:#2e7d5b}.wrong{fill:#fdf3f2;stroke:#c0392b}
text{fill:#212121}.label{font-weight:700}.small{font-size:13px}
.ok{fill:#1b6b47}.bad{fill:#b3261e;font-weight:700}
@media(prefers-color-scheme:dark){
.card{fill:#1e2227;stroke:#56616b}.right{fill:#182a22;stroke:#4caf85}.wrong{fill:#2f1c1b;stroke:#e57368}
text{fill:#e8eaed}.ok{fill:#7fd6ad}.bad{fill:#ff9c91}}
"""


def story() -> dict[str, Any]:
    """Return the story that is drawn, as the file of readings has it."""
    with gzip.open(DOCS / "readings" / "written-pilot.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return next(row for row in rows if row.get("Core Set ID") == STORY)


def edits(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return its first right edit, and the wrong one of the kind that is drawn."""
    wrong = next(answer for answer in row["Wrong answers"] if answer["why"] == MISTAKE)
    return row["Right answers"][0], wrong


def quotations(row: dict[str, Any], answer: dict[str, Any], kinds: tuple[str, ...]) -> list[str]:
    """Return the words by which an edit tells the facts of some kinds, as a reader quoted them."""
    quoted = [fact["words"] for fact in json.loads(answer["readings"][0])["facts"]]
    proof = row["Proof"]
    found = []
    for name, consequence in proof["consequences"].items():
        if consequence["kind"] in kinds:
            clauses = json.dumps(proof["wordings"][name])
            known = set(re.findall(r"\w+", clauses.lower()))
            shares = {words: len(known & {*words.lower().split()}) for words in quoted}
            found.append(max(shares, key=lambda words: shares[words]))
    return found


def lines(text: str, marked: list[str], mark: str, columns: int) -> list[str]:
    """Break a text into lines of SVG, in which the marked words are set apart."""
    spans = [(start, start + len(words)) for words in marked if (start := text.index(words)) >= 0]
    shown, place = [], 0
    for line in textwrap.wrap(text, columns):
        place = text.index(line, place)
        parts: list[str] = []
        for inside, letters in _runs(line, place, spans):
            word = escape(letters)
            style = f'<tspan class="{mark}" text-decoration="underline">{word}</tspan>'
            parts.append(style if inside else word)
        shown.append("".join(parts))
        place += len(line)
    return shown


def _runs(line: str, start: int, spans: list[tuple[int, int]]) -> list[tuple[bool, str]]:
    runs: list[tuple[bool, str]] = []
    for place, letter in enumerate(line, start):
        inside = any(first <= place < last for first, last in spans)
        if runs and runs[-1][0] == inside:
            runs[-1] = (inside, runs[-1][1] + letter)
        else:
            runs.append((inside, letter))
    return runs


class Drawing:
    """Lines of SVG, from the top down."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, x: int, y: int, shown: list[str], kind: str = "") -> int:
        """Write lines of text, and return where the next one stands."""
        for line in shown:
            self.parts.append(f'<text x="{x}" y="{y}" class="{kind}">{line}</text>')
            y += LINE
        return y

    def card(self, x: int, y: int, width: int, height: int, kind: str) -> None:
        """Draw the ground of a card, behind all that is written so far."""
        place = f'x="{x}" y="{y}" width="{width}" height="{height}"'
        self.parts.insert(0, f'<rect {place} rx="8" class="{kind}"/>')


def edit_card(drawing: Drawing, row: dict[str, Any], answer: dict[str, Any], x: int, y: int) -> int:
    """Write one edit with its verdicts, and return where it ends."""
    failed = [name for name, passed in answer["verdicts"].items() if not passed]
    mark = "bad" if failed else "ok"
    marked = quotations(row, answer, STAYS if failed else CHANGES)
    label = "✗ Wrong edit" if failed else "✓ Right edit"
    y = drawing.write(x, y, [label], f"label {mark}")
    y = drawing.write(x, y, lines(answer["text"], marked, mark, 43)) + 8
    y = drawing.write(x, y, [*WHY[mark]], "small label") + 8
    for name, passed in answer["verdicts"].items():
        sign = "✓" if passed else "✗"
        kind = "small" if passed else "small bad"
        y = drawing.write(x, y, [f"{sign} {CRITERIA[name]}"], kind)
    return y


def drawing() -> str:
    """Return the picture."""
    row = story()
    right, wrong = edits(row)
    page, inner = Drawing(), MARGIN + 20
    y = page.write(inner, MARGIN + 34, ["Story"], "label")
    y = page.write(inner, y, lines(row["Variation text"], [], "", 96)) + 12
    y = page.write(inner, y, ["Request"], "label")
    top = page.write(inner, y, lines(row["Query"][0], [], "", 96)) + 8
    half = (WIDTH - 2 * MARGIN - 16) // 2
    second = MARGIN + half + 16
    ends = [
        edit_card(page, row, answer, x + 20, top + 34)
        for answer, x in ((right, MARGIN), (wrong, second))
    ]
    height = max(ends) - top - 4
    page.card(second, top, half, height, "wrong")
    page.card(MARGIN, top, half, height, "right")
    page.card(MARGIN, MARGIN, WIDTH - 2 * MARGIN, top - MARGIN - 16, "card")
    total = top + height + MARGIN
    said = (
        f"{row['Variation text']} {row['Query'][0]} Right: {right['text']} Wrong: {wrong['text']}"
    )
    body = "\n".join(page.parts)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" width="{WIDTH}" \
height="{total}" role="img" aria-labelledby="t d" font-size="{SIZE}" \
font-family="Arial, Helvetica, 'Liberation Sans', sans-serif">
<title id="t">A story, a request, a right edit and a wrong edit</title>
<desc id="d">{escape(said)}</desc>
<style>{STYLE}</style>
{body}
</svg>
"""


if __name__ == "__main__":
    TARGET.write_text(drawing(), encoding="utf-8")
