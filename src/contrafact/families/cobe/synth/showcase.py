"""``python -m contrafact.families.cobe.synth.showcase PAGE``: the stories a page of docs shows.

They are what ``contrafact cobe synth --n 30 --seed 1`` draws, each with one of its wrong answers.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from contrafact.families.cobe.data import KnownStory
from contrafact.families.cobe.phrasing import condition_of
from contrafact.families.cobe.synth.draw import draw_stories
from contrafact.families.cobe.synth.template import bundled_templates
from contrafact.files.atomic import write_text

__all__ = ["drawn_page", "main", "shown"]

BEGIN, END = "<!-- drawn stories: begin -->", "<!-- drawn stories: end -->"
_N, _SEED = 30, 1
_NAMES = {
    "E1": "changes what stays",
    "E2": "leaves what changes",
    "E3": "misjoins",
    "E4": "moves a quantity the wrong way",
    "E5": "contradicts what is implied",
}


def shown(stories: Iterable[KnownStory]) -> str:
    """Return stories as Markdown: text, change, criteria, an answer, and one wrong answer."""
    parts = []
    for place, drawn in enumerate(stories):
        story, wrong = drawn.story, drawn.wrong[place % len(drawn.wrong)]
        lines = [
            f"**{story.id}** ({story.graph}; {story.domain})",
            "",
            f"> {story.text}",
            "",
            f"- *had* {condition_of(story.queries[0])}",
            f"- stays: {story.unchanged}",
            f"- changes: {' '.join(filter(None, (story.changed, story.numerical)))}",
        ]
        lines += [f"- implied: {story.latent}"] if story.latent else []
        lines += [
            f"- right: {story.answer}",
            f"- fails {wrong.fails}, {_NAMES[wrong.fails or '']}: {' '.join(wrong.text.split())}",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def drawn_page(page: str) -> str:
    """Return a page with the drawn stories between its two marks.

    Raises:
        ValueError: If the marks are not there.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks '{BEGIN}' or '{END}'")
    stories = shown(draw_stories(bundled_templates(), _N, _SEED))
    return f"{before}{BEGIN}\n\n{stories}\n\n{END}{after}"


def main(arguments: list[str]) -> int:
    """Rewrite the page that is named."""
    path = Path(arguments[0])
    write_text(path, drawn_page(path.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
