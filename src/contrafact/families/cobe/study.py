"""The human study: responses for people to rate, and what their ratings say of the judge.

CoBe, appendix C.3: 100 responses, three raters, strict majority. The paper drew at random from one
system's responses; here every system gets its share, each story is drawn once as far as there are
stories, and figures are of the sample as drawn.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from contrafact.errors import InputError
from contrafact.families.cobe.study_sheet import NO, OTHER, SHOWN, YES, Answers, KeyItem
from contrafact.files.sheets import item_check, item_names
from contrafact.stats.agreement import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    percent_agreement,
    with_interval,
)
from contrafact.stats.intervals import Interval, cluster_bootstrap
from contrafact.stats.sampling import even_allocation
from contrafact.text.delimit import printable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["JUDGE", "MAJORITY", "StudyScores", "draw_study", "majority_of", "score_study"]

JUDGE = "judge"
MAJORITY = "majority"


@dataclass(frozen=True)
class StudyScores:
    """What a study says. Shares are from 0 to 1; each figure has ``_low`` and ``_high`` beside it.

    Attributes:
        raters: One row: ``items``, ``raters``, ``fleiss``, ``ac1``, ``percent`` and ``unanimous``
            (share of the items that all raters answered on which they agree), with how many
            answers were "other".
        judge: One row per judge, and one for all: against the strict majority, ``accuracy``,
            ``precision``, ``recall``, ``f1``, ``kappa`` and the four counts (``tp`` both pass,
            ``fp`` the judge alone, ``fn`` the people alone, ``tn`` neither); ``split``: items
            without a majority; ``open``: items whose verdict was open.
        pairs: Every two raters, and every rater with the judge: ``n``, ``percent``, ``kappa``.
        labels: One row per item, with every rater's answer, the majority and the judge's verdict:
            a table that ``contrafact agree`` reads, and what a correction of scores needs.
    """

    raters: "pd.DataFrame"
    judge: "pd.DataFrame"
    pairs: "pd.DataFrame"
    labels: "pd.DataFrame"


def draw_study(
    items: "pd.DataFrame", n: int, rng: np.random.Generator
) -> tuple[list[dict[str, str]], list[KeyItem]]:
    """Draw responses for people to rate.

    Every system (with its judge) gets the same number, as far as it has them. Within a system
    stories are drawn without replacement before one is shown a second time, in a phrasing and draw
    at random. Only valid responses that were judged can be drawn, also those whose verdict was
    open.

    Args:
        items: The items frame, of one run or many.
        n: How many to draw; all, if there are no more.
        rng: Where randomness comes from.

    Returns:
        The sheet's rows in random order, and the key's items in order of their names.

    Raises:
        InputError: There is nothing to draw from, or fewer are asked for than there are systems.
    """
    pool = items[items["text"].notna() & items["judge"].notna()].reset_index(drop=True)
    if pool.empty:
        raise InputError(
            "no response in these runs was seen by a judge", hint="run them with --judge first"
        )
    keys = pool[["system", "judge"]].astype(str)
    strata = [group.index.tolist() for _, group in keys.groupby(["system", "judge"], sort=True)]
    if n < len(strata):
        raise InputError(
            f"{n} responses cannot show every system of these runs",
            hint=f"ask for at least {len(strata)} with --n",
        )
    sizes = even_allocation([len(stratum) for stratum in strata], n)
    chosen: list[tuple[int, float]] = []
    for stratum, size in zip(strata, sizes, strict=True):
        stories = pool.loc[stratum, "sample_id"].tolist()
        for place in _spread_over(stories, size, rng):
            chosen.append((stratum[place], size / len(stratum)))
    names = item_names(len(chosen), rng)
    rows, key = [], []
    for name, place in zip(names, rng.permutation(len(chosen)), strict=True):
        position, probability = chosen[int(place)]
        row = pool.iloc[position]
        shown = {
            column: printable(str(row[source]))
            for column, source in zip(SHOWN, ("story", "query", "text"), strict=True)
        }
        rows.append({"item": name} | shown)
        verdict = row["correct"]
        key.append(
            KeyItem(
                item=name,
                system=str(row["system"]),
                model=str(row["model"]),
                method=str(row["method"]),
                judge=str(row["judge"]),
                draw=str(row["draw"]),
                sample_id=str(row["sample_id"]),
                phrasing=str(row["phrasing"]),
                domain=str(row["domain"]),
                graph=str(row["graph"]) if isinstance(row["graph"], str) else "",
                judge_verdict="" if math.isnan(verdict) else YES if verdict else NO,
                probability=probability,
                check=item_check(shown.values()),
            )
        )
    return rows, sorted(key, key=lambda item: item.item)


def majority_of(answers: Sequence[str]) -> str | None:
    """Return what more than half of the answers say; None where nothing has so many."""
    if not answers:
        return None
    answer, count = Counter(answers).most_common(1)[0]
    return answer if 2 * count > len(answers) else None


def score_study(
    answers: Answers,
    key: Sequence[KeyItem],
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
) -> StudyScores:
    """Return what people say of the judge, and of each other.

    "Other" is an answer of its own among raters. A majority of "other", or none, decides nothing
    about the judge, and neither does a verdict that was open; both are counted. Intervals resample
    stories, since the responses to one resemble each other.

    Raises:
        InputError: No cell holds an answer.
    """
    import pandas as pd

    people = [person for person, own in answers.given.items() if own]
    if not people:
        raise InputError(
            "no cell of these sheets is filled in", hint="write Yes, No or Other in 'judgement'"
        )
    study = _Study(list(key), answers.given, people, rng, level, resamples)
    named = list(dict.fromkeys(item.judge for item in key))
    judges = [study.judge(one) for one in named]
    if len(named) > 1:
        judges.append(study.judge(None))
    labels = []
    for item in key:
        own = {person: answers.given[person].get(item.item) for person in people}
        told = [answer for answer in own.values() if answer is not None]
        if told:
            facts = {
                "item": item.item,
                "sample_id": item.sample_id,
                "system": item.system,
                "probability": item.probability,
            }
            verdict = item.judge_verdict or None
            labels.append(facts | own | {MAJORITY: majority_of(told), JUDGE: verdict})
    return StudyScores(
        raters=pd.DataFrame([study.raters()]),
        judge=pd.DataFrame(judges),
        pairs=pd.DataFrame(study.pairs()),
        labels=pd.DataFrame(labels),
    )


@dataclass(frozen=True)
class _Study:
    """The answers and the settings that all figures share."""

    key: list[KeyItem]
    given: Mapping[str, Mapping[str, str]]
    people: list[str]
    rng: np.random.Generator
    level: float
    resamples: int

    @property
    def _settings(self) -> dict[str, Any]:
        return {"level": self.level, "resamples": self.resamples, "rng": self.rng}

    def raters(self) -> dict[str, Any]:
        rated = [item for item in self.key if any(item.item in self.given[p] for p in self.people)]
        table = np.array(
            [[self.given[p].get(item.item) for p in self.people] for item in rated], dtype=object
        )
        clusters = [item.sample_id for item in rated]
        whole = [place for place, row in enumerate(table) if all(cell is not None for cell in row)]
        unanimous = [float(len(set(table[place])) == 1) for place in whole]
        figures: dict[str, float] = {}
        if len(self.people) > 1:
            for name, function in (
                ("percent", percent_agreement),
                ("fleiss", fleiss_kappa),
                ("ac1", partial(gwet_ac1, categories=[YES, NO, OTHER])),
            ):
                own = with_interval(function, table, clusters=clusters, **self._settings)
                figures |= own.columns(name)
            share = cluster_bootstrap(
                unanimous, [clusters[place] for place in whole], **self._settings
            )
            figures |= share.columns("unanimous")
        others = sum(cell == OTHER for row in table for cell in row)
        return {"items": len(rated), "raters": len(self.people), "other": others} | figures

    def judge(self, name: str | None) -> dict[str, Any]:
        """Return one judge, or all of them, against the strict majority."""
        pairs, clusters = [], []
        split = undecided = 0
        for item in self.key:
            told = [self.given[p][item.item] for p in self.people if item.item in self.given[p]]
            if not told or (name is not None and item.judge != name):
                continue
            majority = majority_of(told)
            if majority not in (YES, NO):
                split += 1
            elif not item.judge_verdict:
                undecided += 1
            else:
                pairs.append((majority, item.judge_verdict))
                clusters.append(item.sample_id)
        count = Counter(pairs)
        tp, fp, fn, tn = (count[cell] for cell in ((YES, YES), (NO, YES), (YES, NO), (NO, NO)))
        row: dict[str, Any] = {
            "judge": name or "all judges",
            "n": len(pairs),
            "tp": tp,
            "fp": fp,
            "fn": fn,
            "tn": tn,
            "split": split,
            "open": undecided,
        }
        if not pairs:
            return row
        table = np.array(pairs, dtype=object)
        row |= self._share([a == b for a, b in pairs], clusters).columns("accuracy")
        for figure, within in (("precision", 1), ("recall", 0)):
            own = [place for place, pair in enumerate(pairs) if pair[within] == YES]
            row |= self._share(
                [pairs[place] == (YES, YES) for place in own], [clusters[p] for p in own]
            ).columns(figure)
        row |= self._f1(pairs, clusters)
        kappa = with_interval(cohen_kappa, table, clusters=clusters, **self._settings)
        return row | kappa.columns("kappa")

    def pairs(self) -> list[dict[str, Any]]:
        verdicts = {item.item: item.judge_verdict for item in self.key if item.judge_verdict}
        clusters = {item.item: item.sample_id for item in self.key}
        rows = []
        for one, other in [
            *combinations(self.people, 2),
            *((person, JUDGE) for person in self.people),
        ]:
            second = verdicts if other == JUDGE else self.given[other]
            own = [
                item.item
                for item in self.key
                if item.item in self.given[one]
                and item.item in second
                # The judge has no "other": what a person left open says nothing of it.
                and not (other == JUDGE and self.given[one][item.item] == OTHER)
            ]
            if not own:
                continue
            table = np.array([(self.given[one][i], second[i]) for i in own], dtype=object)
            about = {"rater": one, "other": other, "n": len(own)}
            groups = [clusters[i] for i in own]
            percent, kappa = (
                with_interval(function, table, clusters=groups, **self._settings)
                for function in (percent_agreement, cohen_kappa)
            )
            rows.append(about | percent.columns("percent") | kappa.columns("kappa"))
        return rows

    def _share(self, values: Sequence[bool], clusters: Sequence[str]) -> Interval:
        return cluster_bootstrap([float(v) for v in values], list(clusters), **self._settings)

    def _f1(self, pairs: list[tuple[str, str]], clusters: list[str]) -> dict[str, float]:
        """Return F1 as the weighted mean that it is: 2 tp / (2 tp + fp + fn)."""
        own = [place for place, pair in enumerate(pairs) if YES in pair]
        both = [pairs[place] == (YES, YES) for place in own]
        interval = cluster_bootstrap(
            [float(one) for one in both],
            [clusters[place] for place in own],
            weights=[2.0 if one else 1.0 for one in both] if own else None,
            **self._settings,
        )
        return interval.columns("f1")


def _spread_over(stories: Sequence[str], size: int, rng: np.random.Generator) -> list[int]:
    """Return places at random, every story once before any a second time."""
    seen: Counter[str] = Counter()
    order = [int(place) for place in rng.permutation(len(stories))]
    rounds: list[tuple[int, int, int]] = []
    for place in order:
        rounds.append((seen[stories[place]], len(rounds), place))
        seen[stories[place]] += 1
    return [place for _, _, place in sorted(rounds)[:size]]
