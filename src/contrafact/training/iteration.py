"""One iteration: new headlines, candidates, scores, preferences, DPO (FIN-FORCE, B.2)."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from contrafact.models.whitebox.noise import prompt_tokens, text_tokens
from contrafact.models.whitebox.weights import CausalModel
from contrafact.training.candidates import by_method, write_candidates
from contrafact.training.headlines import write_headlines
from contrafact.training.judging import Candidate, Judge, by_inspect, by_self, score_candidates
from contrafact.training.preferences import Preference, Scored, pair_up
from contrafact.training.stages import (
    Journal,
    read_json,
    read_lines,
    run_stage,
    write_json,
    write_lines,
)
from contrafact.training.trainers import Lesson, prefer
from contrafact.training.workshop import JOURNAL, StepBar, Workshop, told_losses
from contrafact.training.writing import Reply

__all__ = ["Iteration"]


class Iteration:
    """One iteration of a training.

    Args:
        shop: The training.
        number: Which iteration, from 1.
        model: The checkpoint it begins with.
    """

    def __init__(self, shop: Workshop, number: int, model: Path):
        self.shop = shop
        self.config = shop.config
        self.number = number
        self.model = model
        self.name = f"iteration-{number}"
        self.folder = shop.out / self.name

    def run(self) -> Path | None:
        """Do its stages; return its checkpoint, or none where it is saturated."""
        for name, work in (
            ("headlines", self._headlines),
            ("candidates", self._candidates),
            ("scores", self._scores),
            ("preferences", self._preferences),
        ):
            run_stage(self.folder / name, work)
        found = read_json(self.folder / "preferences" / "saturation.json")
        if found["pairs"] < self.config.preferences.min_pairs:
            share = found["tie_share"]
            self.shop.say(
                f"{self.name}: saturated: {found['pairs']} preference pairs of "
                f"{found['headlines']} headlines, where {self.config.preferences.min_pairs} are "
                "wanted"
                + ("" if share is None else f"; {share:.0%} ties")
                + ("" if found["spread"] is None else f"; mean spread {found['spread']:.2f}")
            )
            return None
        run_stage(self.folder / "model", self._prefer)
        return self.folder / "model"

    def _headlines(self, folder: Path) -> None:
        wanted = self.config.headlines.count
        known = self.shop.held_out()
        known += [one.headline for one in self.shop.examples("validation")]
        for earlier in range(1, self.number):
            path = self.shop.out / f"iteration-{earlier}" / "headlines" / "headlines.jsonl"
            known += [row["headline"] for row in read_lines(path)]
        with self.shop.progress(f"{self.name}: new headlines", wanted) as bar:
            written = write_headlines(
                self.shop.model(self.model),
                self.shop.dialogue,
                [one.headline for one in self.shop.examples("train")],
                known,
                self.config.headlines,
                seed=self.config.seed,
                iteration=self.number,
                journal=Journal(folder / JOURNAL),
                said=bar.step,
            )
        write_lines(folder / "headlines.jsonl", [{"headline": text} for text in written.kept])
        write_lines(
            folder / "rejected.jsonl",
            [{"headline": text, "reason": reason} for text, reason in written.rejected],
        )
        (folder / JOURNAL).unlink()
        self.shop.say(
            f"{self.name}: {len(written.kept)} new headlines of "
            f"{len(written.kept) + len(written.rejected)} written"
        )

    def _candidates(self, folder: Path) -> None:
        path = self.folder / "headlines" / "headlines.jsonl"
        headlines = [row["headline"] for row in read_lines(path)]
        total = len(headlines) * self.config.candidates.per_headline
        settings, seed = self.config.candidates, self.config.seed
        with self.shop.progress(f"{self.name}: candidates", total) as bar:
            rest: dict[str, Any] = {
                "seed": seed,
                "iteration": self.number,
                "journal": Journal(folder / JOURNAL),
                "said": bar.step,
            }
            if settings.method == "zero-shot":
                causal = self.shop.model(self.model)
                made = write_candidates(causal, self.shop.dialogue, headlines, settings, **rest)
            else:
                self.shop.free_model()  # the method loads its own
                made = by_method(str(self.model), self.shop.pack, headlines, settings, **rest)
        write_lines(folder / "candidates.jsonl", [asdict(one) for one in made])
        (folder / JOURNAL).unlink(missing_ok=True)

    def _scores(self, folder: Path) -> None:
        path = self.folder / "candidates" / "candidates.jsonl"
        candidates = [
            Candidate(row["key"], row["headline"], Reply(**row["reply"]))
            for row in read_lines(path)
        ]
        settings = self.config.judge
        judge: Judge | None = None
        each = settings.samples
        if settings.by == "checks":
            each = 1
        elif settings.by == "self":
            judge = by_self(
                self.shop.model(self.model),
                settings,
                seed=self.config.seed,
                journal=Journal(folder / JOURNAL),
            )
        else:
            judge = by_inspect(settings, seed=self.config.seed, journal=Journal(folder / JOURNAL))
        with self.shop.progress(f"{self.name}: scores", each * len(candidates)) as bar:
            scored, reasons = score_candidates(
                candidates, self.shop.dialogue, settings, judge, said=bar.step
            )
        write_lines(folder / "scores.jsonl", [asdict(one) for one in scored])
        write_json(folder / "unreadable.json", dict(reasons.most_common()))
        (folder / JOURNAL).unlink(missing_ok=True)

    def _preferences(self, folder: Path) -> None:
        path = self.folder / "scores" / "scores.jsonl"
        scored = [Scored(**{**row, "samples": tuple(row["samples"])}) for row in read_lines(path)]
        pairs, saturation = pair_up(scored, margin=self.config.preferences.margin)
        write_lines(folder / "preferences.jsonl", [asdict(one) for one in pairs])
        write_json(folder / "saturation.json", saturation.row())
        self.shop.say(
            f"{self.name}: {saturation.valid} of {saturation.candidates} candidates are "
            f"valid; {saturation.pairs} preference pairs of {saturation.headlines} headlines"
        )

    def _prefer(self, folder: Path) -> None:
        path = self.folder / "preferences" / "preferences.jsonl"
        pairs = [Preference(**row) for row in read_lines(path)]
        causal = self.shop.model_to_train(self.model)
        order = np.random.default_rng([self.config.seed, self.number]).permutation(len(pairs))
        lessons = [self._choice(causal, pairs[int(place)]) for place in order]
        checked = max(1, round(self.config.validation * len(lessons)))
        with StepBar(self.shop.progress, f"{self.name}: steps") as steps:
            losses = prefer(
                causal, lessons[checked:], lessons[:checked], self.config, folder, steps
            )
        write_lines(folder / "losses.jsonl", losses)
        self.shop.say(f"{self.name}: {told_losses(losses)}")

    def _choice(self, causal: CausalModel, one: Preference) -> Lesson:
        return Lesson(
            prompt_tokens(causal, self.shop.dialogue.ask_pair(one.headline)),
            text_tokens(causal, one.chosen, ended=one.chosen_ended),
            text_tokens(causal, one.rejected, ended=one.rejected_ended),
        )
