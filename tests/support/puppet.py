"""Strings on a real engine: a thin proxy that lets it write only what a test wants.

The engine stays as it is, with its template, tokenizer, cache and counts. To each request for a reply the
proxy adds a grammar that is one sequence of tokens: those into which the engine itself parts the words.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

CHAT = "/v1/chat/completions"
Row = dict[str, Any]
Play = Callable[[Row], str]  # from a request to the words that answer it


def call(name: str, words: str = "I go on.", **args: Any) -> str:
    """A tool call as the tiny model's template writes it."""
    return f'{words}\n<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(args)}}}\n</tool_call>'


@contextmanager
def puppet(engine: str, play: Play) -> Iterator[str]:
    """The address of a proxy before `engine` whose every reply is what `play` says."""

    class Strings(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.pass_on(None)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            # Without a choice of tools the engine takes a grammar, and renders the tools all the same.
            held = {"tool_choice": "none", "grammar": only(engine, play(body))} if self.path == CHAT else {}
            self.pass_on({**body, **held})

        def pass_on(self, body: Row | None) -> None:
            with _ask(engine, self.command, self.path, body) as answer:
                self.send_response(answer.status)
                self.send_header("content-type", answer.getheader("content-type", ""))
                self.end_headers()
                while piece := answer.read1():
                    self.wfile.write(piece)

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Strings) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def only(engine: str, words: str) -> str:
    """A grammar that leaves nothing else to say, nor another way to part it into tokens."""
    with _ask(engine, "POST", "/tokenize", {"content": words}) as answer:
        tokens = json.loads(answer.read())["tokens"]
    return "root ::= " + " ".join(f"<[{token}]>" for token in tokens)


@contextmanager
def _ask(engine: str, method: str, path: str, body: Row | None) -> Iterator[HTTPResponse]:
    connection = HTTPConnection(urlsplit(engine).netloc)
    data = None if body is None else json.dumps(body)
    connection.request(method, path, data, {"content-type": "application/json"})
    try:
        yield connection.getresponse()
    finally:
        connection.close()
