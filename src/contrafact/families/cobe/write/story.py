"""A story written to a structure: the question to the writer, its reply, and what rules can check.

CoBe, section 3.1. The writer gives the story, every fact as a clause with its opposite, and what is
supposed as a clause; the three phrasings, the criteria and the proof are made from these by rule.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.errors import InputError
from contrafact.families.cobe.data import LATENT as MARK_LATENT
from contrafact.families.cobe.data import NUMERICAL as MARK_NUMERICAL
from contrafact.families.cobe.phrasing import queries
from contrafact.families.cobe.synth.prove import STRUCTURE, Facts, situation_of
from contrafact.families.cobe.write.structure import LATENT, NUMBER, SUPPOSED, Structure
from contrafact.judges.replies import read_json_object
from contrafact.models.requests import SharedSchema, closed_object
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.text.delimit import replace_surrogates
from contrafact.text.tokens import stem

QUOTED = 0.6
"""The share of a clause's content words that its story has to hold."""
_WORDS_A_FACT, _LEAST, _MOST = 13, 25, 60
_WORD = re.compile(r"\d[\d.,]*\d|\d|[^\W\d_]{3,}")
_EMPTY = frozenset(
    (
        *("the", "and", "was", "were", "had", "has", "have", "been", "his", "her", "its", "their"),
        *("that", "this", "there", "with", "for", "from", "not", "did", "does", "they", "she"),
        *("him", "them", "who", "which", "than", "then", "into", "out", "are", "will", "would"),
    )
)
_RULES = re.compile(
    r"\b(?:would(?:n't| not)? have|could have|might have|had it not|if not for|whenever|"
    r"every time|each time|only if|in that case|otherwise)\b",
    re.IGNORECASE,
)
"""Words of rules, and of what would have been."""


@dataclass(frozen=True)
class Written:
    """A story as it was written.

    Attributes:
        clauses: For every fact but a number, the clause that tells it, and its opposite.
        supposed: For every supposed fact, its opposite in the past perfect.
        number: The words of the number: "told", "what", "amount" and "unit"; empty without one.
    """

    text: str
    clauses: Mapping[str, tuple[str, str]]
    supposed: Mapping[str, str]
    number: Mapping[str, Any] = field(default_factory=dict)

    @property
    def wordings(self) -> dict[str, Any]:
        """Return the words of every fact in the form of a proof."""
        worded: dict[str, Any] = {
            name: {"true": {"clauses": [told]}, "false": {"clauses": [opposite]}}
            for name, (told, opposite) in self.clauses.items()
        }
        for name, clause in self.supposed.items():
            worded[name]["false"]["supposed"] = [clause]
        if self.number:
            amount = _figure(self.number["amount"]).sub("{n}", self.number["told"], count=1)
            words = {"entity": self.number["what"], "amounts": [amount]}
            worded[NUMBER] = words | {"unit": self.number["unit"]}
        return worded

    def told(self, name: str) -> str:
        return str(self.number["told"]) if name == NUMBER else self.clauses[name][0]


def writer_template(pack: PromptPack) -> PromptTemplate:
    variables = {"setting", "domain", "initials", "facts", "supposed", "least", "most", "number"}
    return pack.template("cobe/write", required=variables, optional={"twin", "latent"})


def lengths(structure: Structure) -> tuple[int, int]:
    """Return the least and the most words of a story to a structure."""
    facts = len(structure.told)
    return max(_LEAST, 6 * facts), max(_MOST, _WORDS_A_FACT * facts)


def writer_prompt(
    template: PromptTemplate, structure: Structure, twin: Structure | None, initials: str
) -> str:
    least, most = lengths(structure)
    return template.render(
        setting=structure.setting,
        domain=structure.domain,
        initials=initials,
        facts=[*_planned(structure)],
        twin=[*_planned(twin, structure)] if twin else [],
        latent=LATENT,
        supposed=list(structure.supposed),
        least=least,
        most=most,
        number=NUMBER if NUMBER in structure.gates else "",
    )


def _planned(structure: Structure, but: Structure | None = None) -> Iterator[dict[str, Any]]:
    """Yield the facts as the writer's plan has them, of a twin only those that are otherwise."""
    effects = {cause for causes in structure.causes.values() for cause in causes}
    for name, gate in structure.gates.items():
        if but is None or gate != but.gates[name]:
            form = "latent" if name == LATENT else gate.form
            aside = gate.form == "root" and name not in effects
            yield {"label": name, "form": form, "causes": list(gate.causes), "aside": aside}


def writer_schema(structure: Structure, twin: Structure | None) -> ResponseSchema:
    text = JSONSchema(type="string")
    event = {"told": text, "opposite": text}
    number = {"told": text, "what": text, "amount": JSONSchema(type="integer"), "unit": text}
    facts = {n: closed_object(number if n == NUMBER else event) for n in structure.gates}
    fields = {"plan": text, "text": text, **({"second": text} if twin else {})}
    fields |= {
        "facts": closed_object(facts),
        "supposed": closed_object(dict.fromkeys(structure.supposed, text)),
    }
    return SharedSchema(name="story", json_schema=closed_object(fields), strict=True)


def read_written(reply: str, structure: Structure, twin: Structure | None) -> list[Written]:
    """Return the story in a reply, and the second one of a pair.

    Raises:
        InputError: The reply is not as asked.
    """
    value = read_json_object(reply).value
    if value is None:
        raise InputError("the reply is no JSON object as asked")
    try:
        facts = {name: value["facts"][name] for name in structure.gates}
        clauses = {
            name: (_clause(one["told"]), _clause(one["opposite"]))
            for name, one in facts.items()
            if name != NUMBER
        }
        number = dict(facts.get(NUMBER, {}))
        if number:
            number |= {name: _clause(number[name]) for name in ("told", "what", "unit")}
            number["amount"] = int(number["amount"])
        supposed = {name: _clause(value["supposed"][name]) for name in structure.supposed}
        texts = [_clean(value[name]) for name in ("text", *(["second"] if twin else []))]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the reply lacks or misuses {error}") from None
    return [Written(text, clauses, supposed, number) for text in texts]


def problems_of(written: Written, structure: Structure) -> Iterator[str]:
    """Yield what rules find wrong with a story, in words for its writer."""
    least, most = lengths(structure)
    words = len(written.text.split())
    if not least <= words <= most:
        yield f"the story has {words} words, not {least} to {most}"
    for match in _RULES.finditer(written.text):
        yield f"the story reasons, or tells a rule: '{match[0]}'"
    seen: set[str] = set()
    for name in structure.told:
        told = written.told(name)
        if (share := quoted_share(told, written.text)) < QUOTED:
            yield f"{name}: the story does not hold the clause '{told}' ({share:.0%} of its words)"
        for clause in (told,) if name == NUMBER else written.clauses[name]:
            if clause.casefold() in seen or not clause:
                yield f"{name}: the clause '{clause}' is empty or stands twice"
            seen.add(clause.casefold())
    if LATENT in structure.gates and quoted_share(written.clauses[LATENT][0], written.text) == 1.0:
        yield f"{LATENT}: the story states '{written.clauses[LATENT][0]}'"
    if written.number:
        amount, found = written.number["amount"], _figure(written.number["amount"])
        if amount < 3 or len(found.findall(written.text)) != 1:
            yield f"{NUMBER}: the story does not have {amount:,} once, in digits"
        if len(found.findall(written.number["told"])) != 1:
            yield f"{NUMBER}: 'told' does not have {amount:,} once, in digits"
    try:
        queries(list(written.supposed.values()))
    except InputError as error:
        yield f"'supposed': {error.problem}"


def story_row(
    structure: Structure,
    written: Written,
    readings: Sequence[Mapping[str, Any]],
    core: int,
    variation: int,
) -> dict[str, Any]:
    """Return a story in the paper's schema, with its proof from the structure.

    Raises:
        ValueError: The clauses cannot be told apart.
    """
    number = int(written.number.get("amount", 100))
    text = structure.scm(number)
    consequences: dict[str, dict[str, Any]] = {}
    for name, one in structure.after(structure.supposed).items():
        if name == NUMBER:
            consequences[name] = {"kind": one.kind, "direction": one.direction}
        else:
            consequences[name] = {"kind": one.kind, "after": one.after}
    proof: dict[str, Any] = {
        "format": 3,
        "basis": STRUCTURE,
        "template": f"written {core}",
        "graph": text.graph,
        "forms": {name: gate.form for name, gate in structure.gates.items()},
        "mechanisms": text.mechanisms,
        "noise": text.noise,
        "told": list(structure.told),
        "quantities": list(text.quantities),
        "wordings": written.wordings,
        "relations": [],
        "facts": structure.facts(number),
        "intervention": dict.fromkeys(structure.supposed, SUPPOSED),
        "consequences": consequences,
        "traps": list(structure.traps),
        "readings": list(readings),
    }
    row = {
        "Core Set ID": core,
        "Variation ID": variation,
        "Domain": structure.domain,
        "Variation text": written.text,
        "Query": list(queries([written.supposed[name] for name in structure.supposed])),
        "Graph type": structure.graph,
        "Failure modes": list(structure.failure_modes),
        "Proof": proof,
    }
    return row | {"Evaluation criteria": criteria_of_facts(situation_of(row))}


def quoted_share(clause: str, text: str) -> float:
    """Return the share of a clause's content words that occur in a text, by their stems."""
    wanted = _stems(clause)
    return len(wanted & _stems(text)) / len(wanted) if wanted else 0.0


def _stems(text: str) -> set[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    return {stem(word) for word in words if word not in _EMPTY}


def criteria_of_facts(facts: Facts) -> list[str]:
    """Return the criteria of a written story, as a file lists them, in the words of its facts."""

    def told(name: str) -> str:
        forms = facts.reader.wordings[name]
        if name != NUMBER:
            return str(forms["true"]["clauses"][0])
        return str(forms["amounts"][0]).replace("{n}", f"{facts.proof.facts[name]:,}")

    about = facts.about
    listed = [" ".join(_sentence(told(name)) for name in about[key]) for key in ("E1", "E2")]
    for name, way in about["E4"].items():
        forms = facts.reader.wordings[name]
        before = f"{facts.proof.facts[name]:,} {forms['unit']}".strip()
        than = "higher" if way == "up" else "lower"
        moves = _sentence(f"{forms['entity']} is {than} than {before}")
        listed.append(f"{MARK_NUMERICAL} {moves}")
    if about["E5"]:
        listed.append(f"{MARK_LATENT} {' '.join(_sentence(told(name)) for name in about['E5'])}")
    return listed


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


def _figure(amount: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![\d.,]){amount:,}(?![\d]|[.,]\d)|(?<![\d.,]){amount}(?![\d]|[.,]\d)")


def _clean(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError("a text")
    return replace_surrogates(" ".join(text.split()))


def _clause(text: str) -> str:
    return _clean(text).rstrip(" .")
