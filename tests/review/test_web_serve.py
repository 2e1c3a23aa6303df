"""``contrafact review serve`` as a user runs it: a real server on loopback, stopped by a signal."""

import re
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from contrafact.errors import InputError
from contrafact.review.web.serve import bind, serve

PASSWORD = "otter lantern gravel 7"


class Server:
    """A server in a process of its own."""

    def __init__(self, start, folder, *options):
        self.log = folder / "server.log"
        with self.log.open("a") as log:
            self.process = start(
                *("review", "serve", "--db", "review.db", "--port", "0", *options),
                stdout=subprocess.PIPE,
                stderr=log.fileno(),
                text=True,
            )
        first = self.process.stdout.readline()
        self.base = re.search(r"https?://\S+", first)[0]

    def link(self):
        return re.search(r"https?://\S+/invite/\S+", self.process.stdout.readline())[0]

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        try:
            self.process.wait(timeout=30)
        finally:
            self.process.kill()
            self.process.stdout.close()
        return self.process.returncode


def hidden(page, name="csrf"):
    return re.search(rf'name="{name}" value="([^"]*)"', page.text)[1]


def test_from_the_first_link_to_a_clean_stop(tmp_path, quick_contrafact, start_contrafact):
    server = Server(start_contrafact, tmp_path)
    try:
        link = server.link()
        with httpx.Client(base_url=server.base, follow_redirects=True, timeout=60) as http:
            page = http.get(link)
            form = {"csrf": hidden(page), "password": PASSWORD, "again": PASSWORD}
            home = http.post(link, data=form)
            assert home.status_code == 200 and "Open a review" in home.text
            assert http.get("/manage").status_code == 200
            result = quick_contrafact(
                "review", "invite", "Ada", "--db", "review.db", "--url", "http://x/"
            )
            assert re.fullmatch(r"http://x/invite/\S+\n", result.stdout), result.stderr
            made = quick_contrafact("review", "invite", "Ben", code=0).stdout.strip()
            assert made.startswith(f"{server.base}/invite/") and http.get(made).status_code == 200
    finally:
        assert server.stop() == 0
    log = server.log.read_text()
    assert "GET '/invite/[secret]' 200" in log and "GET '/manage' 200" in log
    assert link.rsplit("/", 1)[1] not in log and "Traceback" not in log

    again = Server(start_contrafact, tmp_path)
    with httpx.Client(base_url=again.base, timeout=60) as http:
        http.get("/sign-in")
    assert again.stop(signal.SIGINT) == 0


def test_it_serves_tls_with_cookies_for_nothing_else(tmp_path, start_contrafact):
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    named = "-keyout key.pem -out cert.pem -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    command = ["openssl", *made.split(), *named.split()]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    server = Server(start_contrafact, tmp_path, "--tls-cert", "cert.pem", "--tls-key", "key.pem")
    try:
        assert server.base.startswith("https://127.0.0.1:")
        import ssl

        trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        with httpx.Client(base_url=server.base, verify=trusted, timeout=60) as http:
            answer = http.get("/sign-in")
            assert answer.headers["set-cookie"].startswith("__Host-contrafact-visit-")
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"host": "0.0.0.0"}, "0.0.0.0 unencrypted"),
        ({"host": "::"}, ":: unencrypted"),
        ({"host": "no.such.host.invalid"}, "not an address of this machine"),
        ({"tls": ("no.pem", None)}, "no.pem: no such file"),
        ({"tls": ("text.pem", None)}, "text.pem: "),
        ({"database": "mysql://x"}, "databases are not supported"),
        ({"database": "no/folder/review.db"}, "the folder does not exist"),
    ],
)
def test_what_cannot_be_served_is_reported(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.pem").write_text("not a certificate\n")
    options = {"database": "review.db", "port": 0, **options}
    if "tls" in options:
        options["tls"] = (Path(options["tls"][0]), None)
    with pytest.raises(InputError, match=message):
        serve(options.pop("database"), **options)


def test_only_loopback_is_bound_unless_told_otherwise():
    for host in ("127.0.0.1", "localhost"):
        with bind(host, 0, tls=False, allow_remote=False) as listening:
            assert listening.getsockname()[0] in ("127.0.0.1", "::1")
    for allowed in ({"tls": True, "allow_remote": False}, {"tls": False, "allow_remote": True}):
        # Names are checked alike; nothing of the test leaves loopback.
        with bind("127.0.0.1", 0, **allowed) as listening:
            assert listening.getsockname()[1] > 0
    with pytest.raises(InputError, match="--tls-cert"):
        bind("0.0.0.0", 0, tls=False, allow_remote=False)


def test_a_port_that_is_taken_is_reported(tmp_path, quick_contrafact):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        run = quick_contrafact("review", "serve", "--port", port)
    assert run.returncode == 2 and f"cannot listen on 127.0.0.1:{port}" in run.stderr


def test_no_link_to_an_address_where_no_studio_runs(quick_contrafact, start_contrafact, tmp_path):
    asked = ("review", "invite", "Ada")
    assert "no studio has served this database" in quick_contrafact(*asked, code=2).stderr
    for wrong in ("x", "ftp://x", "http://x/deep"):
        said = quick_contrafact(*asked, "--url", wrong, code=2).stderr
        assert f"'{wrong}' is not a studio's address" in said
    server = Server(start_contrafact, tmp_path)
    assert httpx.get(f"{server.base}/sign-in", timeout=60).status_code == 200
    assert server.stop() == 0
    refused = quick_contrafact(*asked, code=2)
    assert f"no studio answers at {server.base} any more; start it, or name" in refused.stderr
    assert not refused.stdout


def test_a_role_needs_its_review(quick_contrafact):
    run = quick_contrafact("review", "invite", "Ada", "--role", "expert-a")
    assert run.returncode == 2 and "--review NAME" in run.stderr
    assert run.stderr.count("\n") == 1


def test_an_invitation_gives_a_role_in_the_review(tmp_path, quick_contrafact, review_team):
    from contrafact.review.project import load_project
    from contrafact.review.store.store import Store

    with Store(str(tmp_path / "review.db")) as store:
        store.define("ours", load_project("cobe-rating"), "Max")
    words = ["review", "invite", "Ada", "--review", "ours", "--role", "rater", "--role", "manager"]
    words += ["--url", "http://127.0.0.1:8000"]
    assert quick_contrafact(*words).returncode == 0
    with Store(str(tmp_path / "review.db")) as store:
        assert store.read("ours", lambda b: b.people["Ada"].roles) == ("rater",)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--trust-header", "X-Remote-User", "--from", "proxy.example.org"), "is not an address"),
        (("--trust-header", "X Remote User"), "is not a header's name"),
    ],
)
def test_a_proxy_that_is_given_wrongly_is_one_line(quick_contrafact, given, said):
    done = quick_contrafact("review", "serve", "--port", "0", *given)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr


@pytest.mark.parametrize(("trusted", "seen"), [("127.0.0.1", 200), ("192.0.2.9", 403)])
def test_a_proxy_names_people_from_where_it_is_trusted_alone(
    tmp_path, quick_contrafact, start_contrafact, trusted, seen
):
    asked = ("review", "invite", "Ada", "--role", "manager", "--url", "http://127.0.0.1:8000")
    quick_contrafact(*asked, code=0)
    # What a proxy says of the browser's address does not change where the proxy is.
    named = ("--trust-header", "X-Remote-User", "--from", trusted, "--behind-proxy")
    server = Server(start_contrafact, tmp_path, *named)
    try:
        headers = {"X-Remote-User": "Ada", "X-Forwarded-For": "192.0.2.9"}
        with httpx.Client(base_url=server.base, timeout=60, headers=headers) as http:
            answer = http.get("/manage")
            assert answer.status_code == seen
            assert ("Open a review" in answer.text) == (seen == 200)
    finally:
        server.stop()
