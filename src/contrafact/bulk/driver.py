"""Bulk work on a cluster that is joined from afar (``ray://``): what drives it runs there.

Ray Data does not work through Ray's client, so that an actor of the cluster does what the command
does elsewhere, and is asked how far it is. It ends with the client: within half a minute, where
that was killed.
"""

import os
import pickle
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from contrafact import __version__
from contrafact.bulk.cluster import cluster, model_error
from contrafact.bulk.run import Engine, Summary, run_bulk
from contrafact.bulk.stage import ModelStage, Stage
from contrafact.console import Progress
from contrafact.errors import InputError, ModelError

__all__ = ["FAR", "run_far"]

FAR = "ray://"
"""How addresses of Ray's client begin."""

_LOOK = 0.5
"""Seconds between two looks at how far the work is."""


class _Kept(Progress):
    """Progress that is kept for whoever asks, and shown nowhere."""

    def __init__(self, what: str, total: int | None, done: int = 0):
        self.what, self.total, self.done = what, total, done
        self.before = done
        self.note = ""
        self.lines: list[str] = []

    def __enter__(self) -> "_Kept":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def step(self, number: int = 1, note: str = "") -> None:
        self.done, self.note = self.done + number, note

    def say(self, text: str) -> None:
        self.lines.append(text)


class _Driver:
    """The actor: one thread works, another one answers how far it is."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    def version(self) -> str:
        return __version__

    def run(self, folder: str, work: tuple[Any, ...], noun: str) -> bytes:
        """Return the summary, or the error that ends the command, pickled.

        Args:
            folder: Where the command was typed, from where its paths lead.
            work: Stage, input, output and engine.
            noun: What rows are called.
        """
        with suppress(OSError):  # then its paths are whole ones, or nothing is found
            os.chdir(folder)

        def kept(what: str, total: int | None, done: int = 0) -> _Kept:
            self._kept = _Kept(what, total, done)
            return self._kept

        try:
            return pickle.dumps(run_bulk(*work, noun=noun, progress=kept))
        except (InputError, ModelError) as error:
            return pickle.dumps(error)

    def state(self, shown: int) -> tuple[str, int | None, int, int, str, list[str]] | None:
        """Return how far the work is, with the lines after the first so many."""
        kept = self._kept
        if kept is None:
            return None
        return kept.what, kept.total, kept.before, kept.done, kept.note, kept.lines[shown:]


def run_far(
    stage: Stage | ModelStage, given: str | int, out: str, engine: Engine, *, noun: str = "rows"
) -> Summary:
    """Do what `run_bulk` does, driven from inside the cluster at ``engine.address``.

    Raises:
        InputError: As `run_bulk` raises it; or the cluster cannot be used.
        ModelError: As `run_bulk` raises it; or Ray gave up.
    """
    assert engine.address is not None
    with cluster(engine.address) as joined:
        import ray
        from ray.exceptions import RayError

        actor = ray.remote(num_cpus=0, max_concurrency=2)(_Driver)
        driver = actor.remote()
        try:
            theirs = ray.get(driver.version.remote())
            if theirs != __version__:
                raise InputError(
                    f"the cluster has contrafact {theirs}, and here is {__version__}",
                    hint="install the same version on both",
                )
            own = replace(engine, address=None)  # which is the cluster that it runs in
            work = driver.run.remote(str(Path.cwd()), (stage, given, out, own), noun)
            _watch(ray, driver, work, joined.dashboard)
            found = pickle.loads(ray.get(work))
        except RayError as error:
            problem = "the cluster cannot do the work; is contrafact[bulk] installed on its nodes?"
            raise model_error(problem, error) from error
        finally:
            ray.kill(driver)
    if isinstance(found, Exception):
        raise found
    assert isinstance(found, Summary)
    return found


def _watch(ray: Any, driver: Any, work: Any, dashboard: str) -> None:
    """Show how far the work is until it has ended."""
    progress: Progress | None = None
    shown, ended = 0, False
    with ExitStack() as held:
        while not ended:
            ended = bool(ray.wait([work], timeout=_LOOK)[0])
            state = ray.get(driver.state.remote(shown))
            if state is None:
                continue
            what, total, before, done, note, lines = state
            if progress is None:
                progress = held.enter_context(Progress(what, total, before))
                if dashboard:
                    progress.say(f"Ray's dashboard: {dashboard}")
            for line in lines:
                progress.say(line)
            shown += len(lines)
            if done > progress.done:
                progress.step(done - progress.done, note)
