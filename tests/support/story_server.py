"""A stand-in for a service that writes stories to structures, and reads them as they were meant.

It follows a writer's plan in dull words ("the alder box was opened"), and as a reader answers by
the structure that it wrote to. `misreads` changes what readers say of a story, `links` what they
join in an answer; `arrives` is called with every request, before it is answered.
"""

import json
import re
from collections import Counter

from tests.support.loopback import Loopback
from tests.support.openai_server import between, completion

from contrafact.families.cobe.write.structure import Gate, Structure

WAYS = {"up": "higher", "down": "lower", None: "same"}


class StoryServer(Loopback):
    def __init__(self):
        self.asked = Counter()
        self.written = {}
        self.misreads = lambda reading, structure: None
        self.text = lambda text: text
        self.links = lambda answer: []
        self.arrives = lambda request: None
        super().__init__()

    def answer(self, handler):
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        first = str(request["messages"][0]["content"])
        kind = next(kind for start, kind in self.kinds.items() if first.startswith(start))
        self.asked[kind.__name__] += 1
        self.arrives(json.dumps(request, sort_keys=True))
        if kind is StoryServer.rewrite and len(request["messages"]) > 1:
            first += "\nAgain."
        said = kind(self, first)
        reply = completion(request, {"content": json.dumps(said)}, 100, 20)
        headers = {"Content-Type": "application/json"}
        self.send(handler, 200, headers, json.dumps(reply).encode())

    def write(self, prompt):
        head, _, tail = prompt.partition("There is a second story")
        gates = planned(head.partition("What has to happen")[2].partition("Nothing else")[0])
        supposed = re.search(r"gone had (.*?) not been so", prompt)[1].split(" and ")
        mark = f"{hash(prompt) % 99999:05}"  # so that no two plans have one story
        told = {n: f"the {n.lower()}lder box {mark} was opened" for n in gates if n != "Q"}
        facts = {
            name: {"told": clause, "opposite": clause.replace("was", "was not")}
            for name, clause in told.items()
        }
        if "Q" in gates:
            facts["Q"] = {"told": "the toll rose to 310 pounds", "what": "the toll"}
            facts["Q"] |= {"amount": 310, "unit": "pounds"}
        clauses = [facts[name]["told"] for name in gates if name != "Z"]
        text = "".join(f"{clause[0].upper()}{clause[1:]} that day. " for clause in clauses)
        text += "Nobody minded at all, and the town went to bed early on that evening, as ever."
        text = self.text(text)
        self.written[text] = Structure("chain", "", "", gates, tuple(supposed))
        reply = {"plan": "", "text": text, "facts": facts}
        reply["supposed"] = {n: told[n].replace("was", "had not been") for n in supposed}
        if tail:
            reply["second"] = text.replace("Nobody", "No one")
            other = {**gates, **planned(tail.partition("All else")[0])}
            self.written[reply["second"]] = Structure("chain", "", "", other, tuple(supposed))
        return reply

    def read_story(self, prompt):
        structure = self.written[between("text", prompt)]
        facts = {label: named(words) for label, words in listed("F", prompt)}
        cases = {}
        for label, words in listed("K", prompt):
            away = [letter.upper() for letter in re.findall(r"the (\w)lder box", words)]
            after = structure.after(away)
            cases[label] = {
                fact: WAYS[after[name].direction]
                if name == "Q"
                else ("stays" if after[name].kind == "stays" else "changes")
                for fact, name in facts.items()
                if name not in away
            }
        reading = {
            "holds": dict.fromkeys(facts, "told"),
            "cases": cases,
            "sense": "sane",
            "why": "",
        }
        self.misreads(reading, structure)
        return reading

    def rewrite(self, prompt):
        answers = dict(re.findall(r"^([RW]\d): (.*)\.$", prompt, re.MULTILINE))
        label_of = "{} again" if prompt.endswith("Again.") else "{}"
        return {
            label: f"{label_of.format(label)}. {told.replace('; ', '. ')}."
            for label, told in answers.items()
        }

    def read_answer(self, prompt):
        text, facts = between("text", prompt), []
        for label, first, second in re.findall(
            r"^(F\d+)\. A: (.*) / B: (.*)$", prompt, re.MULTILINE
        ):
            held = [(key, words) for key, words in (("A", first), ("B", second)) if words in text]
            opened = any(f"whether {words}" in text for words in (first, second))
            holds, words = ("open", "left open") if opened else (held or [("unsaid", "")])[0]
            facts.append({"fact": label, "holds": holds, "words": words})
        if number := re.search(r"^(F\d+)\. .*: higher, lower", prompt, re.MULTILINE):
            word = next(one for one in ("higher", "lower", "still") if one in text)
            holds = "same" if word == "still" else word
            facts.append({"fact": number[1], "holds": holds, "words": word})
        return {"facts": facts, "links": self.links(text)}

    kinds = {  # noqa: RUF012
        "You write very short": write,
        "You read a short story": read_story,
        "You rewrite": rewrite,
        "You read a text": read_answer,
    }


def listed(letter, prompt):
    return re.findall(rf"^({letter}\d+): (.*)$", prompt, re.MULTILINE)


def named(words):
    found = re.search(r"the (\w)lder box", words)
    return found[1].upper() if found else "Q"


def planned(text):
    """Return the gates of a writer's plan, by its words."""
    gates = {}
    for name, line in re.findall(r"^- ([A-Z]): (.*)$", text, re.MULTILINE):
        letters = re.findall(r"\b[A-Z]\b", line)
        causes = tuple(dict.fromkeys(one for one in letters if one != name))
        if "lasting condition" in line or "simply happens" in line or "same scene" in line:
            gates[name] = Gate("root")
        elif "unstated Z, and comes" in line or "because of" in line:
            gates[name] = Gate("one", causes[:1])
        elif "NOT happen" in line:
            gates[name] = Gate("held", causes[:2])
        elif "a number" in line:
            gates[name] = Gate("up" if "higher" in line else "down", causes[:1])
        else:
            gates[name] = Gate("all" if "took" in line else "any", causes)
    return gates
