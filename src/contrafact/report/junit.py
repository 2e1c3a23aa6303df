"""JUnit XML, as build servers show it: of a comparison each check, of runs each output."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd

from contrafact.report.diff import flip_measures, measure_label
from contrafact.report.estimates import prepare_items
from contrafact.report.examples import why_invalid
from contrafact.report.frames import read_tasks
from contrafact.report.regression import Finding
from contrafact.text.delimit import visible_text

__all__ = ["Case", "junit_of_findings", "junit_of_runs"]


@dataclass(frozen=True)
class Case:
    """A test case: it failed where it has a problem, and was skipped where it has a reason."""

    group: str
    name: str
    problem: str = ""
    skipped: str = ""


def junit_of_findings(findings: Sequence[Finding], task: str) -> str:
    """Return a comparison as one suite: a case for each check of each pair of systems."""
    cases = [
        Case(task, f"{one.check.name}: {one.first}", one.text if one.regressed else "")
        for one in findings
    ]
    return junit_xml({"contrafact diff": cases})


def junit_of_runs(folders: Sequence[Path]) -> str:
    """Return runs as suites, one a task: a case for each output, with what failed of it.

    What counts are the measures that are yes or no of an output, in their strict form. An output of
    which nothing is known is skipped.
    """
    suites = {}
    for runs in read_tasks(folders):
        rows, spec = prepare_items(runs.items, runs.spec), runs.spec
        asked = [
            (measure, pd.to_numeric(rows[column], errors="coerce"))
            for measure, _, column in flip_measures(rows, spec)
            if measure.better is not None and measure.name not in ("valid", "invalid")
        ]
        cases = []
        for at, (_, row) in enumerate(rows.iterrows()):
            known = [
                (one, value.iloc[at]) for one, value in asked if value.iloc[at] == value.iloc[at]
            ]
            failed = [
                measure_label(one) for one, value in known if (value == 1) != (one.better == "high")
            ]
            why = why_invalid(row)
            problem = ", ".join((*((f"invalid: {why}",) if why else ()), *failed))
            key = [str(row[name]) for name in dict.fromkeys(("sample_id", *spec.key))]
            skipped = "" if problem or known or not asked else "nothing was judged of it"
            cases.append(Case(str(row["system"]), " ".join(key), problem, skipped))
        suites[runs.task] = cases
    return junit_xml(suites)


def junit_xml(suites: "dict[str, list[Case]]") -> str:
    """Return suites of cases, by name, as JUnit XML; characters that it cannot hold are shown."""
    root = ElementTree.Element("testsuites")
    for name, cases in suites.items():
        counts = {
            "tests": len(cases),
            "failures": sum(bool(case.problem) for case in cases),
            "errors": 0,
            "skipped": sum(bool(case.skipped) for case in cases),
        }
        suite = ElementTree.SubElement(root, "testsuite", _shown(name=name, **counts))
        for case in cases:
            one = ElementTree.SubElement(
                suite, "testcase", _shown(classname=case.group, name=case.name)
            )
            for kind, message in (("failure", case.problem), ("skipped", case.skipped)):
                if message:
                    ElementTree.SubElement(one, kind, _shown(message=message))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _shown(**attributes: object) -> dict[str, str]:
    return {name: visible_text(str(value)) for name, value in attributes.items()}
