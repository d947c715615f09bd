"""A forge with its repositories: the stand-in's API, and real git over HTTP behind a token."""

import json
import os
import subprocess
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from forge_server import TOKEN, StandInForge


@contextmanager
def serve_forge(forge: StandInForge, repositories: Path) -> Iterator[str]:
    """The forge's API, and the repositories of a folder as `git http-backend` serves them; its URL.

    Everybody may read; who pushes shows the token as password.
    """

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            content = self._content()
            path = urlsplit(self.path).path
            if ".git/" in path:
                self._git(content)
                return
            status, body, headers = forge.answer(self.command, self.path, dict(self.headers), content)
            self._answer(status, json.dumps(body).encode(), headers)

        do_GET = do_POST = do_PATCH = do_PUT = handle_one

        def _content(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def _git(self, content: bytes) -> None:
            parts = urlsplit(self.path)
            pushes = "git-receive-pack" in self.path
            if pushes and not self._knows_token():
                self._answer(401, b"", {"WWW-Authenticate": 'Basic realm="forge"'})
                return
            environ = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(repositories),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": parts.path,
                "QUERY_STRING": parts.query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(content)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": "kith" if pushes else "",
            }
            done = subprocess.run(["git", "http-backend"], input=content, env=environ, capture_output=True)
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
            self._answer(int(headers.pop("Status", "200 OK").split()[0]), body, headers)

        def _knows_token(self) -> bool:
            kind, _, said = self.headers.get("Authorization", "").partition(" ")
            return kind == "Basic" and b64decode(said).decode().partition(":")[2] == TOKEN

        def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
