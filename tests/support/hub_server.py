"""A loopback stand-in for the Hugging Face hub: its protocol for datasets, and its faults."""

import hashlib
import json
from urllib.parse import unquote, urlsplit

from tests.support.loopback import Loopback

TOKEN = "hf_not_a_real_token_0123456789"


class HubServer(Loopback):
    """Serves until it is closed.

    Attributes:
        datasets: By repository, its commits, newest last: (commit, files by name).
        gated: Repositories that need the token.
        faults: Answers given first, once each, by the start of the path: a status, or "drop".
        asked: What came, in order: "METHOD path".
        headers: The headers that came with it.
    """

    protocol = "HTTP/1.1"

    def __init__(self):
        self.datasets = {}
        self.gated = set()
        self.faults = []
        self.asked = []
        self.headers = []
        super().__init__()

    def commit(self, repository, files):
        """Commit files to a dataset; return the commit."""
        data = {n: d.encode() if isinstance(d, str) else d for n, d in files.items()}
        commits = self.datasets.setdefault(repository, [])
        whole = {**(commits[-1][1] if commits else {}), **data}
        text = json.dumps([len(commits), *((n, d.hex()) for n, d in sorted(whole.items()))])
        commits.append((hashlib.sha1(text.encode()).hexdigest(), whole))
        return commits[-1][0]

    def downloads(self):
        return [line for line in self.asked if line.startswith("GET") and "/resolve/" in line]

    def answer(self, handler):
        path = unquote(urlsplit(handler.path).path)
        self.asked.append(f"{handler.command} {path}")
        self.headers.append({name.lower(): value for name, value in handler.headers.items()})
        fault = None
        for place, (start, what) in enumerate(self.faults):
            if path.startswith(start) and not (what == "drop" and handler.command == "HEAD"):
                fault = self.faults.pop(place)[1]
                break
        if isinstance(fault, int):
            self.send(handler, fault, {}, b'{"error": "at this moment"}')
            return
        repository = self.repository_in(path)
        token = handler.headers.get("Authorization") == f"Bearer {TOKEN}"
        if repository in self.gated and not token:
            error = {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted."}
            self.send(handler, 401, error, b"{}")
        elif repository is None:
            self.send(handler, 404, {"X-Error-Code": "RepoNotFound"}, b"{}")
        else:
            self.get(handler, path, repository, fault)

    def repository_in(self, path):
        return next((name for name in self.datasets if f"datasets/{name}" in path), None)

    def get(self, handler, path, repository, fault):
        commits = self.datasets[repository]
        tail = path.split(f"datasets/{repository}", 1)[1].strip("/").split("/")
        wanted = tail[1] if len(tail) > 1 else "main"
        known = dict(commits)
        commit = commits[-1][0] if wanted == "main" else wanted
        if commit not in known:
            self.send(handler, 404, {"X-Error-Code": "RevisionNotFound"}, b"{}")
            return
        if tail[0] != "resolve":
            siblings = [{"rfilename": name} for name in known[commit]]
            shown = {"id": repository, "sha": commit, "siblings": siblings, "private": False}
            self.send(handler, 200, {}, json.dumps({**shown, "tags": []}).encode())
            return
        data = known[commit].get("/".join(tail[2:]))
        if data is None:
            self.send(handler, 404, {"X-Error-Code": "EntryNotFound"}, b"{}")
            return
        tags = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": commit}
        self.send(handler, 200, tags, data)
