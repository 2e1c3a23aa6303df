"""One model has one name: ``embedded/smollm2-135m`` everywhere, and ``smollm2-135m`` for short."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from contrafact.cli.main import app
from contrafact.family import task_named
from contrafact.models import opening
from contrafact.models.gguf import inspect_name, plain_name
from contrafact.models.prices import is_paid
from contrafact.models.whitebox import weights
from contrafact.training.config import TrainConfig

LONG, SHORT = "embedded/smollm2-135m", "smollm2-135m"

RUN = "--limit 1 --out out"
COMMANDS = {
    **{
        f"run {task} --model": f"run {task} --model NAME {RUN}"
        for task in ("finforce", "rfc-detect", "rfc-diagnose", "cobe")
    },
    **{
        f"run {task} --judge": f"run {task} --model mockllm/model --method {method} {RUN} --judge "
        "NAME"
        for task, method in (("finforce", "zero-shot"), ("cobe", "plain"))
    },
    "run finforce --fluency-model": "run finforce --model mockllm/model --fluency-model NAME "
    "--limit 1 --out out",
    "score finforce --judge": "score finforce outputs.csv --judge NAME --fluency-model none "
    "--out out",
    "score finforce --fluency-model": "score finforce outputs.csv --fluency-model NAME --out out",
    "score cobe --judge": "score cobe responses.json --data stories.json --judge NAME --out out",
    "exam --judge": "exam --judge NAME --family cobe --n 20 --out exam.json",
    "generate --model": "generate news.csv --method zero-shot --model NAME --out out.csv",
    "generate --judge": "generate news.csv --method zero-shot --model mockllm/model --judge NAME "
    "--out out.csv",
    "finforce screen --model": "finforce screen raw.csv --model NAME --out screened.jsonl",
    "rfc label --model": "rfc label paragraphs.jsonl --model NAME --out labelled.jsonl",
    "rfc rewrite --model": "rfc rewrite labelled.jsonl --model NAME --out new.jsonl",
    "rfc check --judge": "rfc check paragraphs.jsonl --judge NAME --out checks.jsonl",
    "rfc rewrite --judge": "rfc rewrite labelled.jsonl --model mockllm/model --judge NAME "
    "--out new.jsonl",
    "cobe augment --model": "cobe augment stories.json --model NAME --out augmented.json",
    "cobe write --model": "cobe write --n 1 --model NAME --reader mockllm/model --out w.jsonl",
    "whatif --model": "whatif --model NAME --factual-prompt a --text b --counterfactual-prompt c",
    "train edit --model": "train edit few.yaml --model NAME --out out",
    "train srlm --model": "train srlm tiny --model NAME --out out",
    "train srlm --judge": "train srlm tiny --judge NAME --out out",
}
NO_MODEL_OF_INSPECT = {
    *("--judge-arg", "--judge-context", "--judge-faults", "--judge-positive"),
}
"""Options with a model or a judge in their name that name none."""
ELSEWHERE = {
    "review plan --judge": "a column of a file",
    "rfc check --polarity-model": "a folder of a classifier",
    "rfc rewrite --polarity-model": "a folder of a classifier",
    "whatif --counterfactual-model": "loaded by the same function as whatif --model",
}


class Reached(BaseException):
    """A model was about to be opened, by this name."""


def options() -> set[str]:
    def walk(command: Any, path: tuple[str, ...]) -> Any:
        if hasattr(command, "list_commands"):
            for word in command.list_commands(None):
                yield from walk(command.get_command(None, word), (*path, word))
        else:
            for one in command.params:
                for name in one.opts:
                    if "model" in name or "judge" in name:
                        yield " ".join((*path, name)), name

    found = walk(typer.main.get_command(app), ())
    return {option for option, name in found if name not in NO_MODEL_OF_INSPECT}


def test_no_option_that_names_a_model_is_forgotten() -> None:
    known = {*COMMANDS, *ELSEWHERE}
    # A task that cannot be judged has the option of every run all the same, and refuses it.
    same = {"run rfc-detect --judge", "run rfc-diagnose --judge"}
    same |= {"score rfc-detect --judge", "score rfc-diagnose --judge"}
    assert options() - known - same == set()
    assert known - options() == set()


def test_names_have_two_forms_and_no_third() -> None:
    assert inspect_name(SHORT) == inspect_name(LONG) == LONG
    assert plain_name(SHORT) == plain_name(LONG) == plain_name(f"whitebox/{SHORT}") == SHORT
    for other in ("openai/gpt-4o", "gpt2", "embedded//a/model.gguf", "embedded/"):
        assert inspect_name(other) == other
    assert plain_name("embedded//a/model.gguf") == "/a/model.gguf"
    assert plain_name("openai-community/gpt2") == "openai-community/gpt2"
    assert not is_paid(SHORT) and not is_paid(LONG)


def test_a_folder_of_that_name_is_the_folder(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "hf" / "mine").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert plain_name("hf/mine") == "hf/mine"


def test_a_run_of_either_name_is_the_same_run() -> None:
    from contrafact.runs.prepare import make_settings, prepare

    names = (SHORT, LONG)
    made = [
        prepare(
            make_settings("finforce", {"models": (name,), "judges": (name,)},
                          {"fluency_model": name})
        ).identity
        for name in names
    ]  # fmt: skip
    assert made[0] == made[1]
    settings = make_settings("finforce", {"models": names, "judges": names}, {})
    assert settings.models == settings.judges == (LONG,)


def test_a_training_of_either_name_is_the_same_training() -> None:
    given = {"family": "finforce", "items": {"examples": []}}
    for name in (SHORT, LONG):
        part = TrainConfig.model_construct(**given)
        made = type(part).__pydantic_validator__.validate_assignment(part, "model", name)
        assert (made[0] if isinstance(made, tuple) else vars(made))["model"] == SHORT


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: Any) -> Path:
    """Small files for every command, and a stop where a model would be opened."""
    headline = "Halden Foods delays the opening of its second plant by a year"
    csv = f"headline,risk,opportunity\n{headline},{headline} and cuts jobs,{headline} and hires\n"
    (tmp_path / "outputs.csv").write_text(csv, encoding="utf-8")
    (tmp_path / "news.csv").write_text(f"headline\n{headline}\n", encoding="utf-8")
    (tmp_path / "raw.csv").write_text(f"headline\n{headline}\n", encoding="utf-8")
    paragraph = (
        "Halden Foods said on Monday that net profit rose 12% to $48 million in the second quarter "
        "as demand for frozen meals grew. Its shares closed 3% higher in Oslo."
    )
    pair = {
        "id": "p1", "article_id": "a1", "title": headline, "text": paragraph,
        "candidates": ["flipping"], "paragraph": paragraph,
        "original": paragraph, "rewritten": paragraph.replace("rose", "fell"),
        "manipulation": "flipping",
    }  # fmt: skip
    for name in ("paragraphs", "labelled", "pairs"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    samples = Path(weights.__file__).parents[2] / "families" / "cobe" / "samples"
    (story,) = [path for path in samples.iterdir() if path.suffix in (".json", ".jsonl")][:1]
    (tmp_path / "stories.json").write_bytes(story.read_bytes())
    cobe = task_named("cobe").run.load()
    stories, _ = cobe.load(story)
    response = {"id": cobe.units(stories)[0].id, "output": "It went otherwise."}
    (tmp_path / "responses.json").write_text(json.dumps([response]), encoding="utf-8")

    few = "supervised: {examples: 16}\nheld_out: {each: 8}\n"
    (tmp_path / "few.yaml").write_text(few, encoding="utf-8")

    def stop(name: str, **options: Any) -> Any:
        if name in ("none/none", "mockllm/model"):
            return real(name, **options)
        raise Reached(name)

    real = opening.get_model
    monkeypatch.setattr(opening, "get_model", stop)
    monkeypatch.setattr("inspect_ai.model.get_model", stop)
    monkeypatch.setattr(weights, "converted", lambda path: stop(path.name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("option", sorted(COMMANDS))
def test_every_option_takes_both(option: str, inputs: Path) -> None:
    reached = []
    for name in (LONG, SHORT):
        words = [name if word == "NAME" else word for word in COMMANDS[option].split()]
        with pytest.raises(Reached) as error:
            app(words, standalone_mode=False)
        reached.append(str(error.value))
    assert reached[0] == reached[1]
    assert reached[0] in (LONG, f"whitebox/{SHORT}", "SmolLM2-135M-Instruct.Q4_1.gguf")
