"""``contrafact diff``: compare two runs, for people, programs and CI jobs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from contrafact.console import rich_console, show_table
from contrafact.errors import InputError
from contrafact.files.atomic import guard_output, write_text
from contrafact.options import Options, argument, command, option
from contrafact.text.delimit import visible_text

if TYPE_CHECKING:
    from contrafact.report.diff import RunDiff

_TEXT = 300
"""The most characters of a text that are shown on a terminal."""


class _Options(Options):
    run_a: Path = argument("RUN_A", "The run folder to compare with.")
    run_b: Path = argument("RUN_B", "The run folder that is compared with it.")
    system: list[str] | None = option(
        None,
        "Compare this system of RUN_A with that of RUN_B, each by its name, model or method; "
        "repeat for several. By default systems of one name belong together, then those of one "
        "method, then those of one model.",
        metavar="A=B",
    )
    fail_on_regression: list[str] | None = option(
        None,
        "Exit with 1 if RUN_B is worse by this measure, by more than the margin (0.02 or 2%; "
        "default 0); repeat for several. The strict form counts where there is one.",
        metavar="MEASURE[.FORM][:MARGIN]",
    )
    rule: Literal["difference", "interval", "non-inferiority"] = option(
        "difference",
        "What is worse: difference: the difference is beyond the margin; interval: its whole "
        "interval is; non-inferiority: its interval reaches beyond it.",
        metavar="RULE",
    )
    json_out: Path | None = option(
        None, "Write everything as JSON; - for stdout.", flags=("--json",), metavar="FILE"
    )
    show: int = option(5, "Flipped outputs shown on the terminal.", ge=0, metavar="N")

    def check(self) -> None:
        if self.json_out is not None and str(self.json_out) != "-":
            guard_output(self.json_out)
        if not self.fail_on_regression and self.rule != "difference":
            raise InputError(
                f"--rule {self.rule} applies only to a named measure",
                hint="add --fail-on-regression MEASURE",
            )


@command
def diff(options: _Options) -> None:
    """Compare two runs: what changed, which items flipped, and the paired difference.

    Exits with 1 on a regression that --fail-on-regression names, else with 0.

    Example: contrafact diff runs/main runs/branch --fail-on-regression accuracy:2%
    """
    from contrafact.runs.folder import read_manifest

    options.check()
    for folder in (options.run_a, options.run_b):
        read_manifest(folder)  # refuses a folder that is not a run before anything heavy is loaded
    from contrafact.report.diff_tables import diff_json
    from contrafact.report.regression import check_runs
    from contrafact.report.write import render_json

    json_out = options.json_out
    to_stdout = str(json_out) == "-"
    found, findings = check_runs(
        options.run_a,
        options.run_b,
        options.fail_on_regression or (),
        rule=options.rule,
        systems=options.system or (),
    )
    if json_out is not None:
        text = render_json(diff_json(found, findings, options.rule))
        if to_stdout:
            typer.echo(text, nl=False)
        else:
            write_text(json_out, text)
    if not to_stdout:
        _show_diff(found, shown=options.show)
        if json_out is not None:
            typer.echo(f"written: {json_out}")
    for finding in findings:
        if not finding.regressed:
            typer.echo(f"no regression: {_plain(finding.text)}", err=True)
    worse = [finding for finding in findings if finding.regressed]
    for finding in worse:
        typer.echo(f"regression: {_plain(finding.text)}", err=True)
    if worse:
        raise typer.Exit(1)


def _show_diff(found: "RunDiff", *, shown: int) -> None:
    from contrafact.report.diff_tables import differences_table, flips_table, summary
    from contrafact.report.write import row_groups

    # Notes on figures that cannot be compared come before the runs' names.
    typer.echo("".join(f"note: {_plain(str(note))}\n" for note in found.notes), nl=False)
    typer.echo(f"A: {_plain(found.names[0])}\nB: {_plain(found.names[1])}")
    settings = [
        [one["name"].replace("_", " "), *(one[run] or "–" for run in ("before", "after"))]
        for one in found.changes["settings"]
    ]
    if settings:
        show_table("Settings", ["Setting", "A", "B"], [[*map(_plain, row)] for row in settings])
    else:
        typer.echo("settings: the same")
    _show_prompts(found)
    _show_data(found)
    for table in filter(None, (differences_table(found), flips_table(found))):
        for group in row_groups(table):
            title = f"{table.title}, {_plain(group.label)}" if group.label else table.title
            rows = [
                [_plain(cell.text + f" ({cell.interval})" * bool(cell.interval)) for cell in row]
                for row in group.rows
            ]
            show_table(title, [column.heading for column in table.shown], rows)
    for sentence in summary(found):
        typer.echo(_plain(str(sentence)))
    for line in _flips(found, shown):
        typer.echo(line)


def _show_prompts(found: "RunDiff") -> None:
    console, colours = rich_console(highlight=False), {"+": "green", "-": "red", "@": "cyan"}
    if all(prompt["what"] != "changed" for prompt in found.changes["prompts"]):
        both = " where both runs use a template" * bool(found.changes["prompts"])
        typer.echo(f"prompts: the same{both}")
    for prompt in found.changes["prompts"]:
        more = f" ({prompt['note']})" if prompt["note"] else ""
        typer.echo(f"prompt {prompt['what']}: {_plain(prompt['name'])}{more}")
        for line in prompt["diff"]:
            style = colours.get(line[:1])
            console.print(f"  {_plain(line)}", style=style, markup=False, soft_wrap=True)


def _show_data(found: "RunDiff") -> None:
    data = found.changes["data"]
    if not (data["added"] or data["removed"] or data["changed"]):
        typer.echo(f"data: the same {data['shared']:,} samples")
        return
    typer.echo(
        f"data: {data['shared']:,} samples in both runs, {len(data['removed']):,} in A alone, "
        f"{len(data['added']):,} in B alone, {len(data['changed']):,} changed"
    )
    for sign, texts in (("-", data["removed"]), ("+", data["added"])):
        for one, text in list(texts.items())[:5]:
            typer.echo(f"  {sign} {_plain(one)}: {_short(text)}")
        if len(texts) > 5:
            typer.echo(f"  {sign} … and {len(texts) - 5:,} more")
    for item in data["changed"][:5]:
        typer.echo(f"  ~ {_plain(item['id'])} ({', '.join(item['fields'])})")


def _flips(found: "RunDiff", shown: int) -> Iterator[str]:
    from contrafact.report.diff import SystemPair
    from contrafact.report.diff_tables import item_name, same_text

    several = len(found.pairs) > 1
    for flip in found.flips[:shown]:
        pair = SystemPair(flip["system_a"], flip["system_b"])
        of = f" ({_plain(pair.name)})" if several else ""
        yield f"\n{flip['direction']}: {_plain(item_name(found, flip))}{of}"
        for name, one in flip["measures"].items():
            label = found.measure(name).name_with_group()
            yield f"  {label}: {one['state_a']} → {one['state_b']}"
        a, b = (
            f"(invalid: {_short(flip[f'invalid_{side}'] or '')})"
            if flip[side] is None
            else _short(str(flip[side]))
            for side in "ab"
        )
        yield f"  A: {a}"
        yield f"  B: {'(the same text)' if same_text(flip) else b}"
    if len(found.flips) > shown:
        more = len(found.flips) - shown
        yield f"\n{more:,} more flipped; --show N shows them, --json FILE has all of them"


def _short(text: str) -> str:
    return _plain(text if len(text) <= _TEXT else f"{text[:_TEXT]} …")


def _plain(text: str) -> str:
    """Return a text of models or people without characters that control a terminal."""
    return visible_text(text)
