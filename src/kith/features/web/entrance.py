"""What a person sees who comes without the token: a page that holds its style, as all files are locked."""

from base64 import b64encode
from hashlib import sha256
from typing import Final

_STYLE: Final = """
:root { color-scheme: light dark; }
body { margin: 18vh auto 0; max-width: 30rem; padding: 0 1.25rem; font: 15px/1.6 system-ui, sans-serif;
  background: light-dark(#fafaf9, #101113); color: light-dark(#1c1e21, #e4e6e9); }
h1 { font-size: 1.35rem; margin: 0 0 .6rem; }
p { margin: 0 0 .9rem; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
form { display: flex; gap: .5rem; margin: 1.25rem 0; }
input, button { font: inherit; padding: .4rem .75rem; border-radius: 6px;
  border: 1px solid light-dark(#8a8f96, #5b6068); background: light-dark(#fff, #17181b);
  color: inherit; min-width: 0; }
input { flex: 1; }
button { background: light-dark(#3f56c4, #93a5ff); border-color: transparent;
  color: light-dark(#fff, #10131f); cursor: pointer; }
.dim { color: light-dark(#5d646c, #9aa1aa); font-size: .92em; }
"""
_PAGE: Final = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><title>kith: the token, please</title>
<style>{_STYLE}</style></head>
<body><main>
<h1>This page needs its token</h1>
<p>When it started, <code>kith serve</code> printed an address that ends in <code>/?token=…</code>. Open that
address once in this browser, or paste the token here.</p>
<form action="/" method="get"><input type="password" name="token" required autofocus autocomplete="off"
aria-label="Token" placeholder="Token"><button>Come in</button></form>
<p class="dim">Is the address gone? Stop <code>kith serve</code> with Ctrl-C and start it again: work in
progress goes on, and the same token is printed again. Programs send
<code>Authorization: Bearer TOKEN</code>.</p>
</main></body>
</html>
"""
_WRONG: Final = "<h1>That token is not right</h1>"


def entrance(wrong: bool) -> bytes:
    """The page; `wrong`: somebody has just tried a token."""
    return (_PAGE.replace("<h1>This page needs its token</h1>", _WRONG) if wrong else _PAGE).encode()


ENTRANCE_HEADERS: Final = (
    ("content-type", "text/html; charset=utf-8"),
    (
        "content-security-policy",
        f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
)
