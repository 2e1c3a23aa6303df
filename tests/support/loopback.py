"""HTTP servers of tests: on loopback, each in a thread of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Loopback:
    """Serves at ``url`` until it is closed; a subclass says how it answers."""

    protocol = "HTTP/1.0"

    def __init__(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = outer.protocol

            def answer(self):
                outer.answer(self)

            do_GET = do_HEAD = do_POST = answer

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def answer(self, handler):
        raise NotImplementedError

    @staticmethod
    def send(handler, status, headers, body):
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    def close(self):
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


@contextmanager
def folder_served(folder: Path) -> Iterator[str]:
    """Serve the files of a folder, and yield the address."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
