"""What is printed moves no cursor, hides nothing and shows no key, wherever a text came from."""

import io
import logging
import re
import sys
import warnings
from functools import partial

import pytest
from tests.support.terminal import at_terminal

from contrafact.console import Progress, Screen, one_line, rich_console, show_table
from contrafact.errors import InputError, ModelError

HOSTILE = {
    "OSC title": "\x1b]0;owned\x07",
    "OSC link": "\x1b]8;;http://x.example\x1b\\here\x1b]8;;\x1b\\",
    "OSC clipboard": "\x1b]52;c;aGk=\x07",
    "bell": "\x07",
    "C1 CSI": "\x9b31m",
    "C1 OSC": "\x9d0;owned\x9c",
    "cursor up": "\x1b[2A\x1b[2K",
    "clear": "\x1b[2J\x1b[H\x1bc",
    "colour": "\x1b[8mhidden\x1b[0m",
    "return": "seen\rover",
    "backspace": "abc\x08\x08\x08xyz",
    "bidi": "\u202eexe.txt\u2066\u2069",
    "zero width": "na\u200bme\ufeff",
    "tags": "a\U000e0041\U000e007f",
    "separators": "one\u2028two\u2029three\x85four\x0bfive\x0csix",
    "DEL and NUL": "a\x7fb\x00c",
    "surrogate": "a\ud800b",
    "DCS": "\x1bP+q544e\x1b\\",
}
ALLOWED = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[AK])|\r(?=\n|\x1b\[[0-9]*K|$)|[\n\t]")
RAW = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
                 "\ud800-\udfff\U000e0000-\U000e007f]")  # fmt: skip


def raw(shown):
    return RAW.findall(shown.replace("\n", "").replace("\t", ""))


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_every_way_to_print_shows_what_does_not_show_itself(text, terminal, monkeypatch):
    streams = {name: (Terminal if terminal else io.StringIO)() for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, Screen(stream))
    monkeypatch.setenv("TERM", "xterm")
    print(text)
    print(InputError(text, file=text), ModelError(text, [text]), file=sys.stderr)
    sys.stderr.writelines([text])
    print(warnings.formatwarning(text, UserWarning, "a.py", 1), file=sys.stderr)
    log = logging.StreamHandler(sys.stderr)
    log.emit(logging.LogRecord("a", logging.ERROR, "a.py", 1, text, (), None))
    show_table(text, [text, "b"], [[text, text]])
    rich_console().print(text, markup=False)
    with Progress(text, 2) as progress:
        progress.step(note=text)
        progress.say(text)
        print(text)
        progress.step()
    for stream in streams.values():
        shown = stream.getvalue()
        assert not raw(ALLOWED.sub("", shown) if terminal else shown)
        assert "owned" in shown or "owned" not in text
        assert "\x1b[8m" not in shown


def test_a_one_line_error_is_one_line_and_shows_no_key(monkeypatch):
    monkeypatch.setenv("NEWS_API_KEY", "sk-planted-0123456789")
    said = one_line("a\nb\x85c\u2028d \x1b[2J http://me:pass@host/ sk-planted-0123456789 end")
    assert said == "a b c d \\u001b[2J http://host/ (left out) end"


ESCAPE = "\x1b]0;owned\x07\x9b2J\u202e"
COMMANDS = {
    "a file's name": ["data", "check", f"no{ESCAPE}\nsuch.csv"],
    "a command": [f"no{ESCAPE}"],
    "an option": ["run", "finforce", f"--no{ESCAPE}"],
    "a value": ["run", "finforce", "--limit", ESCAPE],
    "a task": ["run", ESCAPE],
    "a model": ["run", "finforce", "--model", f"nobody{ESCAPE}/m"],
    "a method": ["run", "finforce", "--method", ESCAPE],
    "a column": ["agree", "columns.csv"],
    "a key of a config": ["run", "finforce", "--config", "keys.yaml"],
    "a value of a config": ["run", "finforce", "--config", "values.yaml"],
    "a headline": ["data", "check", "headlines.jsonl"],
    "an argument": ["run", "finforce", "--model", "embedded/smollm2-135m", "-M", ESCAPE],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_command_prints_what_moves_the_cursor(command, quick_contrafact, tmp_path):
    (tmp_path / "columns.csv").write_text(f"item{ESCAPE},A{ESCAPE},B\n1,x{ESCAPE},y\n2,x,x\n")
    (tmp_path / "keys.yaml").write_text('"no\\e]0;owned\\a\\x9b2J\\n": 1\n')
    (tmp_path / "values.yaml").write_text('limit: "\\e]0;owned\\a\\x9b2J"\n')
    (tmp_path / "headlines.jsonl").write_text(
        '{"headline": "\\u001b]0;owned\\u0007\\u202e", "h\\u009b": 1}\n' * 2
    )
    done = quick_contrafact(*command)
    assert not raw(done.stdout + done.stderr)
    assert "Traceback" not in done.stderr
    if done.returncode == 2:
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("contrafact: ")]
        assert "owned" in line or "owned" not in done.stderr


def test_a_terminal_is_sent_no_more_than_colours_and_the_bar(start_contrafact, service, tmp_path):
    (tmp_path / "news.csv").write_text(f"headline\nMills close{ESCAPE} in Ostrava\n")
    command = ("generate", "news.csv", "--model", service.model, "--out", "-")
    environment = {**service.environment, "TERM": "xterm-256color"}
    code, shown = at_terminal(partial(start_contrafact, *command, env=environment))
    assert code == 0 and "Ostrava" in shown
    assert not raw(ALLOWED.sub("", shown))
