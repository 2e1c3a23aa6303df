"""No pattern of the package takes time that grows with the square of a text.

Every compiled pattern is found in the modules, and run over texts that are made of it: what its
repetitions take, over and over, with and without what stands before, and an end that fits none.
"""

import dataclasses
import gc
import importlib
import pkgutil
import re
import time
from collections import deque
from functools import cache
from pathlib import Path
from re import _constants as kinds
from re import _parser

import pytest

import contrafact
from contrafact.errors import InputError
from contrafact.families.rfc.contracts import check_pair
from contrafact.judges.quoted import find_words
from contrafact.judges.replies import answer_text, read_json_object
from contrafact.text.delimit import delimit, visible_html, visible_text
from contrafact.text.diff import word_diff
from contrafact.text.likeness import bleu
from contrafact.text.parsing import entities
from contrafact.text.quantities import quantities
from contrafact.text.quantities.context import movements
from contrafact.text.tokens import sentence_spans

pytestmark = pytest.mark.slow

ROOMS = sorted(one.name for one in Path(contrafact.__file__).parent.iterdir() if one.is_dir())
REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT)
PICKS = "a1 A\n.,-'$\"%|*_<&#:/([=é;"
USUAL = (
    *("a", "1", " ", "\n", "\t", "A", "A ", "a ", "1,", "1.", "1 ", "a.", "a-", "a'", "$1 ", "<a"),
    *("&", '"', "*", "#", "[a](", "http://a.", "- ", "(", "Aa ", "the ", "of the ", "USD ", " \n"),
)
MANY = 50  # times from which a repetition is as good as endless
AT_ONCE = 0.01  # CPU seconds: what grows with the square takes more for 50 kB
MOST_GROWTH = 6  # from 50 to 200 kB: of a text 4, of its square 16


@cache
def patterns():
    found = {}

    def look(value, place, depth=0):
        if isinstance(value, re.Pattern):
            found.setdefault(value, place)
        elif depth < 4 and isinstance(value, list | tuple | set | frozenset):
            for one in value:
                look(one, place, depth + 1)
        elif depth < 4 and isinstance(value, dict):
            look([*value.keys(), *value.values()], place, depth)
        elif depth < 4 and dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                look(getattr(value, field.name, None), place, depth + 1)

    for module in pkgutil.walk_packages(contrafact.__path__, "contrafact."):
        if module.name.endswith("__main__") or ".migrations" in module.name:
            continue
        names = vars(importlib.import_module(module.name))
        for name, value in list(names.items()):
            look(value, f"{module.name}.{name}")
            if isinstance(value, type) and value.__module__ == module.name:
                look(list(vars(value).values()), f"{module.name}.{name}")
    return found


def test_no_group_repeats_possessively():
    """Before 3.11.5 Python takes the beginning of such a group for all of it: ``(?>(?:…)+)``."""
    group = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9,]+\})\+")
    assert [place for one, place in patterns().items() if group.search(str(one.pattern))] == []


def is_in(character, members):
    """Whether a class of characters has one."""
    if members[0][0] is kinds.NEGATE:
        return not is_in(character, members[1:])
    return re.match(classes(members), character) is not None


def classes(members):
    words = {
        kinds.CATEGORY_DIGIT: r"\d",
        kinds.CATEGORY_NOT_DIGIT: r"\D",
        kinds.CATEGORY_SPACE: r"\s",
        kinds.CATEGORY_NOT_SPACE: r"\S",
        kinds.CATEGORY_WORD: r"\w",
        kinds.CATEGORY_NOT_WORD: r"\W",
    }
    parts = []
    for kind, value in members:
        if kind is kinds.LITERAL:
            parts.append(re.escape(chr(value)))
        elif kind is kinds.RANGE:
            parts.append("-".join(re.escape(chr(end)) for end in value))
        else:
            parts.append(words[value])
    return f"[{''.join(parts)}]"


def sample(items, pick, way):
    """Return a text that the parsed pattern takes, of a character where it may choose."""
    text = ""
    for kind, value in items:
        if kind is kinds.LITERAL:
            text += chr(value)
        elif kind is kinds.NOT_LITERAL:
            text += next(one for one in pick + PICKS if ord(one) != value)
        elif kind is kinds.ANY:
            text += pick
        elif kind is kinds.IN:
            first = [chr(v if k is kinds.LITERAL else v[0]) for k, v in value
                     if k in (kinds.LITERAL, kinds.RANGE)]  # fmt: skip
            text += next((one for one in [pick, *PICKS, *first] if is_in(one, value)), "a")
        elif kind in REPEATS:
            text += sample(value[2], pick, way) * max(value[0], 1)
        elif kind is kinds.SUBPATTERN:
            text += sample(value[3], pick, way)
        elif kind is kinds.ATOMIC_GROUP:
            text += sample(value, pick, way)
        elif kind is kinds.BRANCH:
            text += sample(value[1][way % len(value[1])], pick, way)
    return text


def pumps(pattern):
    """Yield (a beginning, what is repeated) for each repetition of a pattern."""
    found = {("", one): None for one in USUAL}

    def walk(items, before):
        items = list(items)
        for at, (kind, value) in enumerate(items):

            def prefix(pick, way, at=at):
                return before(pick, way) + sample(items[:at], pick, way)

            if kind in REPEATS:
                if value[1] >= MANY:
                    for pick in PICKS[:10]:
                        for way in (0, 1):
                            body = sample(value[2], pick, way)
                            start = prefix(pick, way)
                            ways = (("", body), (start, body), ("", start + body + body))
                            found.update(dict.fromkeys(one for one in ways if one[1]))
                walk(value[2], prefix)
            elif kind is kinds.SUBPATTERN:
                walk(value[3], prefix)
            elif kind is kinds.ATOMIC_GROUP:
                walk(value, prefix)
            elif kind is kinds.BRANCH:
                for branch in value[1]:
                    walk(branch, prefix)
            elif kind in (kinds.ASSERT, kinds.ASSERT_NOT):
                walk(value[1], prefix)

    walk(_parser.parse(pattern.pattern, pattern.flags), lambda pick, way: "")
    return found


@pytest.fixture(autouse=True)
def _no_collection():
    gc.disable()  # its search for cycles grows with all that lives in the process
    yield
    gc.enable()


def cpu_seconds(reader, *texts):
    started = time.process_time()
    try:
        reader(*texts)
    except InputError as error:
        assert "\n" not in str(error)
    return time.process_time() - started


def seconds(pattern, text):
    return cpu_seconds(lambda: deque(pattern.finditer(text), 0))


def growth(pattern, start, body):
    def pumped(size):
        text = start + body * (size // len(body)) + "\x01"
        return text if isinstance(pattern.pattern, str) else text.encode()

    # The square of a quarter is a 16th: most patterns are done with at a glance. Time that is four
    # times as long for four times the text has no square in it that would tell in a long text.
    if (glance := seconds(pattern, pumped(12_500))) < AT_ONCE / 16:
        return 1.0
    if glance < 4.3 * (tiny := seconds(pattern, pumped(3_125))):
        return 1.0
    tiny = min(tiny, seconds(pattern, pumped(3_125)))
    if (glance := min(glance, seconds(pattern, pumped(12_500)))) < 4.3 * tiny:
        return 1.0
    texts = pumped(50_000), pumped(200_000)
    if (small := seconds(pattern, texts[0])) < max(AT_ONCE, 4.3 * glance):
        return 1.0
    if min(small, seconds(pattern, texts[0])) > 10 * glance:
        return small / glance  # a square as it stands: four times more would take minutes
    large = seconds(pattern, texts[1])
    for _ in range(12):
        if large < MOST_GROWTH * small:
            break
        small = min(small, seconds(pattern, texts[0]))
        large = min(large, seconds(pattern, texts[1]))
    return large / small


@pytest.mark.parametrize("where", ROOMS)
def test_time_grows_with_a_text_and_not_with_its_square(where):
    grown = {}
    for pattern, place in patterns().items():
        if place.split(".")[1] != where:
            continue
        for start, body in pumps(pattern):
            found = growth(pattern, start, body)
            if found >= MOST_GROWTH:
                grown[place, pattern.pattern[:60], start, body] = round(found, 1)
                break
    assert grown == {}


# What reads a text whole takes a megabyte in some CPU second, or says in a line that it does not.
# The second is told by what the machine takes for a plain loop over the text in the same process.

PROSE = "Shares of Acme rose 5% to $3.2 billion in May 2025, while rates fell by 25 basis points. "
_WHOLE = (
    *(quantities, movements, sentence_spans, delimit, visible_html, visible_text),
    *(answer_text, read_json_object),
)
READERS = {one.__name__: one for one in _WHOLE} | {
    "find_words": lambda text: find_words("no such words", text),
    "word_diff": lambda text: word_diff(text, text + " x"),
    "bleu": lambda text: bleu(text[: len(text) // 2], text[len(text) // 2 :] + " x"),
    "entities": entities,
}


MOST_LOOPS = 40  # a CPU second is some 20; twice that where other work shares the memory


def one_by_one(text):
    counted = {}
    for sign in text:
        counted[sign] = counted.get(sign, 0) + 1


@pytest.mark.parametrize("reader", READERS)
def test_a_megabyte_is_read_in_the_time_of_a_few_loops_or_refused(reader):
    slow = {}
    loop = min(cpu_seconds(one_by_one, "a" * 1_000_000) for _ in range(3))
    for body in (PROSE, "$1 ", "x (1.2) ", "one ", "half of ", *USUAL):
        part = 1 if body is PROSE or reader == "entities" else 4  # a square tells there, too
        text = body * (1_000_000 // part // len(body))
        for _ in range(3):
            if (took := cpu_seconds(READERS[reader], text)) < MOST_LOOPS / part * loop:
                break
        else:
            slow[body] = round(took / loop)
    assert slow == {}


@pytest.mark.parametrize("manipulation", ["numerical", "flipping", "sentiment", "causal"])
def test_a_pair_full_of_figures_is_checked_in_time_that_grows_with_it(manipulation):
    def took(figures):
        text = "x " + "$1 " * figures
        pair = text, text.replace("$1", "$2", 1)
        return min(cpu_seconds(check_pair, manipulation, *pair) for _ in range(3))

    assert took(3_200) < 20 * took(400)  # the square of 8 is 64
