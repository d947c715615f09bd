"""A web server on this machine that answers every request with "here"."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Here(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"here\n")

    def log_message(self, *args: object) -> None:
        """A test's own output is enough."""


@contextmanager
def website() -> Iterator[int]:
    """It serves while the block lasts; gives its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Here) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_port
        server.shutdown()
