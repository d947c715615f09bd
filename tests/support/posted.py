"""A server of our own that keeps what is posted to it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer


@dataclass
class Posted:
    """The address of the server, and each post: its headers by small names, and its body."""

    url: str
    posts: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def post_server() -> Iterator[Posted]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.posts.append((headers, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    found = Posted(f"http://127.0.0.1:{server.server_port}/posts")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
