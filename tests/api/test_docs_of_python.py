"""What the pages about Python say runs."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
EMBEDDED = "embedded/smollm2-135m"


@pytest.mark.slow
def test_the_page_about_python_runs(models, tmp_path):
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    pd.DataFrame({"headline": ["Oil rises", "Rates fall"]}).to_csv("news.csv", index=False)
    shown: dict[str, object] = {}
    for block in blocks:
        block = block.replace(f'judge="{EMBEDDED}"', f'judge="{models.judge}"')
        exec(block.replace(EMBEDDED, models.model), shown)
    assert len(blocks) >= 5
    assert len(shown["run"].items) == 6
    assert shown["own"].items["directionality"].tolist() == [False, False]


def test_three_headlines_take_at_most_five_lines():
    notebook = json.loads((ROOT / "docs/notebooks/quickstart.ipynb").read_text(encoding="utf-8"))
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    source = "".join(first["source"])
    assert source.count('"') >= 6 and "judge=" in source
    for text in ("".join(notebook["cells"][0]["source"]), (ROOT / "docs/python.md").read_text()):
        assert "contrafact[notebook,full]' jupyterlab" in text and "models fetch" in text
    assert len([line for line in source.splitlines() if line.strip()]) <= 5


@pytest.mark.slow
def test_the_notebook_runs(models, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed")
    notebook = nbformat.read(ROOT / "docs" / "notebooks" / "quickstart.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace(EMBEDDED, models.model)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [
        output["data"].get("text/html", "")
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.output_type == "execute_result"
    ]
    assert "Fwd-Compat. %" in shown[0] and "zero-shot" in shown[0]
    assert sum("<table" in html for html in shown) >= 5
    assert list(tmp_path.glob("runs/finforce-*/report.html"))
