"""Keys, in every way that a user hands one over: no byte that is written or shown holds one."""

import gzip
import io
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pandas as pd
import pytest
import yaml

pytestmark = pytest.mark.slow
NEWS = [f"Harrow Mills lifts its dividend by {n} percent" for n in (3, 4, 5)]


def keys_of(way):
    """Keys by the way they are handed over; another way of making them stands for new ones."""
    names = ("environment", "argument", "password", "path", "query", "fragment", "bearer")
    names += ("named", "custom", "cookie", "parameter", "judge", "address")
    return {name: f"k9{way}{name}Planted0123" for name in names}


class Echo(ThreadingHTTPServer):
    """A service that refuses one headline, and says all that it was sent by; it counts."""

    daemon_threads = True

    def __init__(self):
        self.asked, self.refuses = [], True
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, *_):
        pass


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = f"{self.path} {dict(self.headers)}"
        text = json.dumps(body["messages"])
        self.server.asked.append(text)
        status, reply = 400, {"error": {"message": f"refused: {said}"}}
        headline = next((one for one in NEWS if one in text), "News")
        if headline != NEWS[0] or not self.server.refuses:
            sides = {f"{side}_counterfactual": f"{headline}, and {side} grows by then: {said[:400]}"
                     for side in ("risk", "opportunity")}  # fmt: skip
            words = json.dumps({"Counterfactuals": [sides], "verdict": True, "explanation": said})
            message = {"role": "assistant", "content": words}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
            status, reply = 200, {"id": "c", "object": "chat.completion", "created": 0,
                                  "model": "m", "choices": [choice], "usage": usage}  # fmt: skip
        sent = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass


@pytest.fixture
def echo():
    with Echo() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def handed_over(keys, server):
    """Return the arguments of the model and of the judge, and the environment, with the keys."""
    place = f"127.0.0.1:{server.server_port}"
    address = (f"http://me:{keys['password']}@{place}/{keys['path']}/v1"
               f"?api_key={quote(keys['query'])}#{keys['fragment']}")  # fmt: skip
    headers = {"X-Api-Key": keys["named"], "X-Corp-Gate": keys["custom"],
               "Cookie": f"session={keys['cookie']}; a=b",
               "Authorization": f"Bearer {keys['bearer']}"}  # fmt: skip
    model = {"base_url": address, "api_key": keys["argument"], "default_headers": headers,
             "default_query": {"code": keys["parameter"]}}  # fmt: skip
    environment = {"ECHO_API_KEY": keys["environment"],
                   "ECHO_BASE_URL": f"http://{place}/v1?key={keys['address']}"}  # fmt: skip
    return model, {"default_headers": {"X-Corp-Gate": keys["judge"]}}, environment


def inside(data):
    """Yield what bytes hold: members of archives, what is compressed, and rows of tables."""
    yield data
    if data[:2] == b"\x1f\x8b":
        yield gzip.decompress(data)
    elif data[:4] == b"PAR1":
        yield repr(pd.read_parquet(io.BytesIO(data)).to_dict("records")).encode()
    elif data[:4] == b"PK\x03\x04":
        import inspect_ai.log  # noqa: F401 - whose archives need it

        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield from inside(archive.read(name))


def found_in(folder, keys, *consoles):
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    files |= {f"console {n}": text.encode() for n, text in enumerate(consoles)}
    return {(way, file) for file, whole in files.items() for data in inside(whole)
            for way, key in keys.items() if key.encode() in data or key in file}  # fmt: skip


def test_no_byte_of_a_run_holds_a_key_and_another_key_goes_on(
    quick_contrafact, echo, tmp_path, tmp_path_factory
):
    (tmp_path / "news.csv").write_text("headline\n" + "\n".join(NEWS) + "\n")
    configs = tmp_path_factory.mktemp("configs")

    def run(keys):
        model, judge, environment = handed_over(keys, echo)
        config = {"task": "finforce", "model": "openai-api/echo/m", "judge": "openai-api/echo/j",
                  "data": str(tmp_path / "news.csv"), "model_args": model, "judge_args": judge,
                  "fluency_model": "none", "max_retries": 0}  # fmt: skip
        (configs / "keys.yaml").write_text(yaml.safe_dump(config))
        folders = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
        config = str(configs / "keys.yaml")
        return quick_contrafact(
            "run", "--config", config, "--out", "run", env={**environment, **folders}
        )

    old, new = keys_of("a"), keys_of("b")
    first = run(old)
    assert first.returncode == 1, first.stderr
    assert "refused" in (tmp_path / "run/failures.csv").read_text()
    assert not found_in(tmp_path, old, first.stdout, first.stderr)
    echo.asked.clear()
    echo.refuses = False
    second = run(new)
    assert second.returncode == 0, second.stderr
    assert all(NEWS[0] in asked for asked in echo.asked)
    echo.asked.clear()
    third = run(old)
    assert "had finished" in third.stdout and not echo.asked
    assert not found_in(tmp_path, old | {f"new {n}": k for n, k in new.items()}, second.stderr)


def test_no_byte_of_generate_and_its_journal_holds_a_key(quick_contrafact, echo, tmp_path):
    (tmp_path / "news.csv").write_text("headline\n" + "\n".join(NEWS) + "\n")

    def generate(keys):
        model, judge, environment = handed_over(keys, echo)
        given = [x for n, v in model.items()
                 for x in ("-M", f"{n}={v if isinstance(v, str) else json.dumps(v)}")]  # fmt: skip
        given += ["--judge-arg", f"default_headers={json.dumps(judge['default_headers'])}"]
        return quick_contrafact(
            "generate", "news.csv", "--model", "openai-api/echo/m", "--judge", "openai-api/echo/j",
            "--out", "out.jsonl", "--max-retries", "0", *given,
            env={**environment, "HOME": str(tmp_path)},
        )  # fmt: skip

    old, new = keys_of("a"), keys_of("b")
    first = generate(old)
    assert first.returncode == 1, first.stderr
    assert not found_in(tmp_path, old, first.stdout, first.stderr)
    echo.asked.clear()
    echo.refuses = False
    second = generate(new)
    assert second.returncode == 0, second.stderr
    assert all(NEWS[0] in asked for asked in echo.asked)
    assert not found_in(tmp_path, old | {f"new {n}": k for n, k in new.items()}, second.stderr)


def judged(command, keys, echo, tmp_path, quick_contrafact, **environment):
    """Run a command that is given the model's keys as a judge's."""
    model, _, named = handed_over(keys, echo)
    given = [x for n, v in model.items() for x in (
        "--judge-arg", f"{n}={v if isinstance(v, str) else json.dumps(v)}")]  # fmt: skip
    environment |= {**named, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    return quick_contrafact(
        *command, "--judge", "openai-api/echo/j", *given, "--max-retries", "0", env=environment
    )


def test_no_byte_of_an_exam_holds_a_key_and_another_key_asks_nothing(
    quick_contrafact, echo, tmp_path
):
    echo.refuses = False
    old, new = keys_of("a"), keys_of("b")
    command = ("exam", "--family", "finforce", "--n", "4", "--out", "exam.json")
    first = judged(command, old, echo, tmp_path, quick_contrafact)
    assert first.returncode == 0, first.stderr
    assert echo.asked and not found_in(tmp_path, old, first.stdout, first.stderr)
    echo.asked.clear()
    second = judged(command, new, echo, tmp_path, quick_contrafact)
    assert second.returncode == 0 and not echo.asked
    assert not found_in(tmp_path, old | {f"new {n}": k for n, k in new.items()}, second.stderr)


def test_no_byte_of_a_shared_cache_or_of_a_review_holds_a_key(quick_contrafact, echo, tmp_path):
    (tmp_path / "news.csv").write_text("headline\n" + "\n".join(NEWS) + "\n")
    echo.refuses = False
    keys = keys_of("a")
    model, judge, environment = handed_over(keys, echo)
    given = [x for option, values in (("-M", model), ("--judge-arg", judge))
             for n, v in values.items()
             for x in (option, f"{n}={v if isinstance(v, str) else json.dumps(v)}")]  # fmt: skip
    environment |= {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"),
                    "INSPECT_CACHE_DIR": str(tmp_path / "shared")}  # fmt: skip
    ran = quick_contrafact(
        "run", "finforce", "--data", "news.csv", "--model", "openai-api/echo/m",
        "--judge", "openai-api/echo/j", "--fluency-model", "none", "--cache", "--out", "run",
        *given, env=environment,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert [path for path in (tmp_path / "shared").rglob("*") if path.is_file()]
    shown = [ran.stdout, ran.stderr]
    project = ("--project", "judge-agreement")
    for command in (
        ("import", "run/items.parquet", *project),
        *(("export", "--what", what, "--out", f"{what}.{form}")
          for what in ("items", "history") for form in ("csv", "jsonl", "parquet")),
    ):  # fmt: skip
        done = quick_contrafact("review", *command, env=environment)
        assert done.returncode == 0, done.stderr
        shown += [done.stdout, done.stderr]
    assert not found_in(tmp_path, keys, *shown)
