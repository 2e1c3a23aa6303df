"""Prompt packs: a wrong template is reported before the first call, with file and line."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import contrafact
from contrafact.errors import InputError
from contrafact.families.finforce.data import SHOTS
from contrafact.prompts import (
    PromptPack,
    bundled_packs,
    default_templates,
    export_pack,
    import_pack,
    open_pack,
)

JUDGE = "finforce/judge-forward-compatibility"
REQUIRED = {"headline", "counterfactual"}


def test_every_template_of_the_default_pack_is_used_by_the_program(monkeypatch):
    opened: set[str] = set()
    real = PromptPack.template

    def template(self, name, **variables):
        opened.add(name)
        return real(self, name, **variables)

    monkeypatch.setattr(PromptPack, "template", template)
    pack = open_pack()
    open_finforce(pack)
    open_rfc(pack)
    open_cobe(pack)
    open_training(pack)
    package = Path(contrafact.__file__).parent  # not of families from elsewhere
    shipped = {name for name, path in default_templates().items() if package in path.parents}
    assert opened == shipped


def open_finforce(pack):
    from contrafact.families.finforce.judging import Judging
    from contrafact.families.finforce.methods import METHODS
    from contrafact.families.finforce.screen import screening_template
    from contrafact.family.method import MethodContext

    for name in METHODS.names():
        METHODS.make(name, MethodContext(pack=pack))
    Judging(pack, faults=True)
    screening_template(pack)


def open_rfc(pack):
    from contrafact.families.rfc.judging import Judging
    from contrafact.families.rfc.methods import methods_of
    from contrafact.families.rfc.pipeline.label import label_template
    from contrafact.families.rfc.pipeline.model_rewriter import open_templates
    from contrafact.family.method import MethodContext
    from contrafact.family.settings import RunSettings

    for task in ("rfc-detect", "rfc-diagnose"):
        settings = RunSettings(task=task)
        for name in methods_of(task).names():
            methods_of(task).make(name, MethodContext(settings, pack))
        methods_of(task).make("plain:question=paper", MethodContext(settings, pack))
    Judging(pack)
    open_templates(pack)
    label_template(pack)


def open_training(pack):
    from contrafact.families.finforce.training import PairPrompts

    PairPrompts(pack)


def open_cobe(pack):
    from contrafact.families.cobe.judging import Judging
    from contrafact.families.cobe.methods import METHODS
    from contrafact.families.cobe.write.stage import open_templates
    from contrafact.family.method import MethodContext

    for name in METHODS.names():
        METHODS.make(f"{name} · stated:1", MethodContext(pack=pack))
    Judging(pack, context=True, reads=True)
    open_templates(pack)


def test_an_exported_pack_is_equal_and_a_changed_one_has_another_hash(tmp_path):
    folder = tmp_path / "pack"
    written = export_pack(folder)
    names = {path.relative_to(folder).with_suffix("").as_posix(): path for path in written}
    assert names.keys() == default_templates().keys()
    for name, path in default_templates().items():
        assert names[name].read_bytes() == path.read_bytes()

    def used(pack: PromptPack) -> str:
        pack.template(JUDGE, required=REQUIRED)
        return pack.used_hash

    assert used(open_pack(folder)) == used(open_pack())
    names[JUDGE].write_text(names[JUDGE].read_text() + "\nmore", encoding="utf-8")
    assert used(open_pack(folder)) != used(open_pack())
    with pytest.raises(InputError, match="not an empty folder"):
        export_pack(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ headline }} {{ counterfactual }}\n{{ headlin }}", r":2: unknown variable 'headlin'"),
        ("{{ headline }}", "'counterfactual' is never used"),
        ("{{ headline }} {% for %}", ":1: template syntax"),
    ],
)
def test_a_wrong_template_is_reported_by_file_and_line(tmp_path, text, message):
    path = tmp_path / f"{JUDGE}.jinja"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as raised:
        open_pack(tmp_path).template(JUDGE, required=REQUIRED)
    assert str(path) in str(raised.value)


def test_a_named_pack_is_the_default_one_but_for_its_own_files(tmp_path):
    own = bundled_packs()["stated"]
    assert {"finforce/generate", "cobe/edit"} <= set(own) < default_templates().keys()
    folder = tmp_path / "pack"
    written = {path.relative_to(folder).as_posix() for path in export_pack(folder, "stated")}
    assert written == {f"{name}.jinja" for name in default_templates()} | {"finforce/shots.jsonl"}
    for name, required in (("finforce/generate", {"headline", "shots"}), (JUDGE, REQUIRED)):
        packs = open_pack("stated"), open_pack(folder), open_pack()
        named, exported, default = (one.template(name, required=required) for one in packs)
        assert named.source == exported.source
        assert (named.source == default.source) == (name not in own)
    for pack in (open_pack("stated"), open_pack(folder)):
        assert "machinery orders" in pack.examples(SHOTS).read_text(encoding="utf-8")
    assert (open_pack().name, open_pack("stated").name) == ("default", "stated")
    assert open_pack().examples(SHOTS) == SHOTS
    with pytest.raises(InputError, match=r"no prompt pack is named 'start'.*default or stated"):
        export_pack(tmp_path / "other", "start")


def test_the_named_pack_says_what_is_judged_and_the_default_one_does_not():
    """The paper's prompt (FIN-FORCE, table 8) asks for a minimal edit, and names no condition."""
    conditions = ("substantial", "beyond one isolated party", "financial effects")
    stated, default = (
        pack.template("finforce/generate", required={"headline", "shots"}).source
        for pack in (open_pack("stated"), open_pack())
    )
    assert all(one in stated and one not in default for one in conditions)
    assert "as little as possible" in default and "as little as possible" not in stated


def test_a_missing_template_and_a_missing_folder_are_reported(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        open_pack(tmp_path / "none")
    with pytest.raises(InputError, match=r"holds no \.jinja"):
        open_pack(tmp_path)
    (tmp_path / "other.jinja").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="lacks the template"):
        open_pack(tmp_path).template(JUDGE, required=REQUIRED)


def test_a_template_cannot_reach_into_the_program(tmp_path):
    (tmp_path / "x.jinja").write_text("{{ v.__class__.__mro__ }}", encoding="utf-8")
    template = open_pack(tmp_path).template("x", required={"v"})
    with pytest.raises(InputError, match="unsafe"):
        template.render(v="text")


@given(st.text(), st.text())
def test_values_are_put_in_once_and_never_read_as_templates(headline, counterfactual):
    template = open_pack().template(JUDGE, required=REQUIRED)
    rendered = template.render(headline=headline, counterfactual=counterfactual)
    assert f"<news>{headline}</news>" in rendered
    assert rendered.endswith(f"<response>{counterfactual}</response>")


def test_a_template_goes_to_another_process():
    template = open_pack().template("cobe/edit", required={"story", "query", "shots"})
    values = {"story": "S", "query": "Q", "shots": []}
    assert pickle.loads(pickle.dumps(template)).render(**values) == template.render(**values)


def test_template_braces_in_a_headline_stay_text():
    template = open_pack().template(JUDGE, required=REQUIRED)
    hostile = "{{ 7 * 7 }} {% raw %} {# x #}"
    assert hostile in template.render(headline=hostile, counterfactual="b")


def test_a_pack_is_imported_from_a_text_with_headed_sections(tmp_path):
    text = """# rfc/detect
Is it false? {"a": {{"x": 1}}} {% odd %} [true/false] {other}
{shots}
Text: {Paragraph}

## finforce/generate.jinja
News: [headline]
"""
    (tmp_path / "appendix.md").write_text(text, encoding="utf-8")
    lacking = import_pack(tmp_path / "appendix.md", tmp_path / "pack")
    assert lacking == {"rfc/detect": ["rationale"], "finforce/generate": ["shots"]}
    pack = open_pack(tmp_path / "pack")
    opened = pack.template("rfc/detect", required={"paragraph", "shots"})
    shown = opened.render(paragraph="Sales rose.", shots=[{"paragraph": "Old", "label": "true"}])
    assert shown.startswith('Is it false? {"a": {{"x": 1}}} {% odd %} [true/false] {other}')
    assert "Old" in shown and shown.endswith("Text: Sales rose.")
    assert (
        pack.template("finforce/generate", required={"headline"}).render(headline="A") == "News: A"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "appendix.md: does not begin with a section; .* such as # "),
        ("", "appendix.md: does not begin with a section"),
        ("# rfc/detekt\nx", "appendix.md: 'rfc/detekt' is no template; use, each once, rfc/detect"),
        ("# rfc/detect\nx\n# rfc/detect\ny", "appendix.md: 'rfc/detect' is there twice"),
        (b"\xff\xfe", "appendix.md: not UTF-8 text"),
    ],
)
def test_a_text_that_is_no_pack_is_refused(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    Path("appendix.md").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message):
        import_pack(Path("appendix.md"), Path("pack"))
    assert not Path("pack").exists()
