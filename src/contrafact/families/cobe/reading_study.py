"""The reading study: can careful readers infer from a story what happens to each of its facts?

CoBe, section 3.1, asks for causal relations that are self-evident. Readers see only the story and
the query, and say what happens to every fact; their answers are compared with the proof. Readers
are people, or language models that know nothing of how the stories were made.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.corpus.datasets import data_source
from contrafact.errors import InputError
from contrafact.families.cobe.data import opened_row
from contrafact.family.study import AnsweredStudy, Question, StudySpec, StudyTable
from contrafact.files.tables import read_rows

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

OUTCOMES = ("stays", "changes", "up", "down", "cannot be told", "true", "false")
SOUND = ("sane", "odd", "absurd")
_KIND = "reading"
_KINDS = ("stays", "changes", "number", "open", "not told")


def facts_of(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the facts of a proven story: each has its ``fact``, the right answer (``due``), and
    its kind (``of``).

    The intervention is not asked about; a latent fact is denied in every second story.
    """
    proof = row["Proof"]
    facts = []
    for name, consequence in proof["consequences"].items():
        forms, kind = proof["wordings"].get(name), consequence["kind"]
        if forms is None or kind == "set":
            continue
        if "amounts" in forms:
            clause = forms["amounts"][0].replace("{n}", f"{proof['facts'][name]:,}")
            due, of = consequence.get("direction", "stays"), "number"
        elif name not in proof["told"]:
            asked = (int(row["Core Set ID"]) + int(row["Variation ID"])) % 2 == 0
            clause = forms[str(asked).lower()]["clauses"][-1]
            due, of = ("true" if consequence["after"] == asked else "false"), "not told"
        else:
            clause = forms[str(proof["facts"][name]).lower()]["clauses"][0]
            due, of = ("cannot be told", "open") if kind == "undetermined" else (kind, kind)
        fact = f"{'(not told) ' * (of == 'not told')}{clause[0].upper()}{clause[1:]}."
        facts.append({"fact": fact, "due": due, "of": of})
    return facts


def _load(path: Path) -> "pd.DataFrame":
    import pandas as pd

    rows, path = [], data_source(path).path
    for _, packed in read_rows(path):
        row = opened_row(packed)
        if not isinstance(row.get("Proof"), Mapping) or "wordings" not in row["Proof"]:
            continue
        name = f"{row['Core Set ID']}v{row['Variation ID']}"
        story = {"story_id": name, "story": row["Variation text"], "query": row["Query"][0]}
        story |= {"graph": row.get("Graph type") or "", "domain": row["Domain"], "kind": _KIND}
        rows += [story | fact for fact in facts_of(row)]
    if not rows:
        raise InputError(
            "no story in it has a proof", file=path, hint="make some with `contrafact cobe synth`"
        )
    return pd.DataFrame(rows)


def _whole_stories(stratum: "pd.DataFrame", size: int, rng: "np.random.Generator") -> Sequence[int]:
    """Return the rows of some of the stories, always with all facts of a story."""
    names = list(dict.fromkeys(stratum["story_id"]))
    chosen = [names[int(index)] for index in rng.permutation(len(names))[:size]]
    rows: dict[str, list[int]] = {name: [] for name in chosen}
    for row, name in enumerate(stratum["story_id"]):
        if name in rows:
            rows[name].append(row)
    return [row for name in chosen for row in rows[name]]


def _tables(study: AnsweredStudy) -> list[StudyTable]:
    import pandas as pd

    people = [str(person) for person in study.given("outcome")]
    readers = [_figures(study, "reader", person, [person], study.items) for person in people]
    if len(people) > 1:
        readers.append(_figures(study, "reader", "all", people, study.items))
    by_graph = [
        _figures(study, "graph", str(graph), people, items)
        for graph, items in study.items.groupby("graph")
    ]
    shares = ("facts", *(kind.replace(" ", "_") for kind in _KINDS), "stories", "settled", "odd")
    return [
        StudyTable(
            "readers", "What careful readers answered correctly", pd.DataFrame(readers), shares
        ),
        StudyTable("graphs", "The same by type of graph", pd.DataFrame(by_graph), shares),
    ]


def _figures(
    study: AnsweredStudy, by: str, name: str, people: list[str], items: "pd.DataFrame"
) -> dict[str, Any]:
    def answers(question: str) -> "pd.DataFrame":
        wide = study.given(question).loc[items.index].reindex(columns=people)
        long = wide.melt(var_name="who", value_name="answer", ignore_index=False).dropna()
        return long.join(items[["due", "of", "story_id"]])

    read, odd = answers("outcome"), answers("sound")
    story = ["who", "story_id"]
    right = read["answer"].eq(read["due"])
    shares = {"facts": right} | {
        kind.replace(" ", "_"): right[read["of"].eq(kind)] for kind in _KINDS
    }
    whole = right.groupby([read[column] for column in story]).transform("all")
    shares["stories"] = whole[~read.duplicated(story)]
    shares["settled"] = right[read["answer"].ne("cannot be told")]
    shares["odd"] = odd["answer"].ne("sane")[~odd.duplicated(story, keep="last")]
    row: dict[str, Any] = {by: name, "n": len(read)}
    for column, values in shares.items():
        row |= study.mean(values).columns(column) if len(values) else {}
    return row


READING = StudySpec(
    summary="whether a story shows what its answers depend on",
    noun="stories",
    load=_load,
    source="Stories with proofs, as `contrafact cobe synth` writes them.",
    shown={"story": "story", "query": "query", "fact": "fact"},
    questions=(
        Question(
            "outcome",
            OUTCOMES,
            spellings={
                **dict.fromkeys(("same", "stay", "unchanged"), "stays"),
                **dict.fromkeys(("change", "changed"), "changes"),
                **dict.fromkeys(("?", "open", "unclear"), "cannot be told"),
                **dict.fromkeys(("higher", "more"), "up"),
                **dict.fromkeys(("lower", "less"), "down"),
            },
            wanted="stays, changes, up, down or cannot be told; if (not told), true or false",
            passes=False,
            verdict="due",
        ),
        Question("sound", SOUND, spellings={}, passes=False, optional=True),
    ),
    guidelines=Path(__file__).with_name("study_reading.txt"),
    key=("item", "kind", "story_id", "domain", "graph", "of", "due", "probability", "check"),
    strata=("kind",),
    choose=_whole_stories,
    together=True,
    n=100,
    cluster="story_id",
    reference="proof",
    tables=_tables,
)
"""``contrafact cobe study sample FILE --sheet reading``."""
