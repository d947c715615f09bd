"""A server of tools without the protocol's package, as it was on 2025-06-18; it misbehaves when told to.

`plain_server.py [WORD ...]`: silent (never answers), broken (ends with words on its standard error), chatty
(prints what is no message), deaf (goes on when its input ends), pages (lists without end), strict (ends when
it is asked before it was greeted), modern (speaks as of 2026-07-28 only), boastful (farther with a call than
there is to go). What it is asked goes into the file that PLAIN_SERVER_LOG names.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

WORDS = set(sys.argv[1:])
MODERN = "2026-07-28"
FRESH = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
TOOLS = [
    {
        "name": "greet",
        "description": os.environ.get("GREETING", "Greet somebody."),
        "inputSchema": {
            "type": "object",
            "properties": {"who": {"type": "string"}, "style": {"type": ["string", "null"]}},
            "required": ["who", "style"],
        },
    },
    {"name": "end", "description": "End this server.", "inputSchema": {"type": "object"}},
    {"name": "picture", "inputSchema": {"type": "object"}},
    {
        "name": "environment",
        "inputSchema": {"type": "object", "properties": {"variable": {"type": "string"}}},
    },
    {"name": "wait", "inputSchema": {"type": "object"}},
    {"name": "much", "inputSchema": {"type": "object"}},
]
TOOLS += [
    {"name": f"more_{n}", "description": "More. " * 20, "inputSchema": {"type": "object"}}
    for n in range(int(os.environ.get("MANY", "0")))
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "server/discover" if "modern" in WORDS:
            return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, **FRESH}
        case "initialize" if "modern" not in WORDS:
            version = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            return {**version, "serverInfo": {"name": "plain", "version": "1"}}
        case "tools/list":
            page = int(params.get("cursor") or 0)
            return (
                {"tools": TOOLS if page == 0 else []}
                | FRESH
                | ({"nextCursor": str(page + 1)} if "pages" in WORDS else {})
            )
        case "tools/call":
            return {"content": use(params["name"], params.get("arguments") or {}), "resultType": "complete"}
        case _:
            return None


def use(name: str, args: dict[str, Any]) -> list[dict[str, Any]]:
    match name:
        case "end":
            print("\x1b[31mFatal:\x1b[0m told to end", file=sys.stderr, flush=True)
            os._exit(3)
        case "picture":
            return [
                {"type": "image", "mimeType": "image/png", "data": "AAAA" * 100},
                {"type": "text", "text": "a cat"},
            ]
        case "environment":
            found = os.environ.get(args["variable"], "(not set)")
            return [{"type": "text", "text": f"{found} in {Path.cwd()}"}]
        case "wait":
            time.sleep(60)
        case "much":
            return [{"type": "text", "text": "row\n" * 100_000}]
    return [{"type": "text", "text": f"Hello {args.get('who')}, {json.dumps(args)}, pid {os.getpid()}"}]


def boast(token: Any) -> None:
    for done, whole in ((float("nan"), 1), (float("inf"), 1), (1e308, 1), (-3, -1), (5, 4)):
        params = {"progressToken": token, "progress": done, "total": whole}
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        print(json.dumps(note), flush=True)


def main() -> None:
    if "broken" in WORDS:
        print("\x1b]0;title\x07Cannot find module 'left-pad'", file=sys.stderr)
        sys.exit(1)
    if "chatty" in WORDS:
        print("Server is running!", flush=True)
        print("x" * 300_000, file=sys.stderr, flush=True)
    log = os.environ.get("PLAIN_SERVER_LOG")
    for line in sys.stdin:
        message = json.loads(line)
        if log:
            with Path(log).open("a") as file:
                file.write(line)
        if "strict" in WORDS and message["method"] != "initialize":
            sys.exit("expected the request initialize")
        WORDS.discard("strict")
        if "silent" in WORDS or "id" not in message:
            continue
        if "boastful" in WORDS and message["method"] == "tools/call":
            boast(message["params"]["_meta"]["progressToken"])
        found = answer(message["method"], message.get("params") or {})
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        body = unknown if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
    while "deaf" in WORDS:
        time.sleep(60)


main()
