"""The shell around every page: its head, the bar on top, the list of keys; or nothing beside itself."""

import base64
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from kith.features.web.html.assets import address, assets
from kith.view.markup import Html, element, joined, text

_STYLES: Final = ("base.css", "steps.css", "review.css")
_SCRIPTS: Final = ("page.js", "review.js")
# Modules that page.js imports.
_PARTS: Final = ("follow.js", "forms.js", "keys.js", "loads.js", "patches.js", "pictures.js", "scroll.js")
_PLACES: Final = (
    ("/", "Sessions"),
    ("/files", "Files"),
    ("/tools", "Tools"),
    ("/models", "Models"),
    ("/profile", "Profile"),
)
_KEYS: Final = (
    ("/", "write a task, or words for the model"),
    ("Ctrl Enter", "send"),
    ("Esc Esc", "stop the model"),
    ("q", "go to the question"),
    ("] [", "next step, previous step"),
    ("e", "open or close all steps"),
    ("G", "go to the end, and follow it"),
    ("f", "find a session or a file"),
    ("g n", "new task"),
    ("g s", "sessions"),
    ("g f", "files"),
    ("g t", "tools"),
    ("g m", "models"),
    ("g p", "profile"),
    ("t", "light or dark"),
    ("?", "show these keys"),
)
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title} - kith</title>
{links}
</head>
<body>
<a class="skip" href="#{content}">Skip to the content</a>
<header id="top">
<a class="mark" href="/">\
<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2v12M12 2.5 5.8 8.2 12 13.5"/></svg>kith</a>
<nav class="places" aria-label="Places">{places}</nav>
<span class="space"></span>
<span id="link" role="status"></span>
<a class="button new" href="/#task" title="New task (g n)">New task</a>
<button class="bare script" id="theme" type="button" title="Light or dark (t)" aria-label="Light or dark">\
<svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6"/>\
<path class="half" d="M8 2a6 6 0 0 1 0 12z"/></svg></button>
<button class="bare script" id="show-keys" type="button" data-opens="keys" title="Keys" aria-label="Keys">\
<kbd>?</kbd></button>
</header>
{body}
<dialog id="keys" aria-labelledby="keys-title">
<header><h2 id="keys-title">Keys</h2><form method="dialog"><button class="bare">Close</button></form></header>
<dl>{keys}</dl>
</dialog>
</body>
</html>
"""

_NO_BAR: Final = ":root { --top: 0rem; }\n"  # the bar above the pages of `kith serve`
_ALONE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{digest}'; \
base-uri 'none'; form-action 'none'">
<title>{title} - kith</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def page(
    title: str, body: Html, here: str = "", styles: Sequence[str] = (), content: str = "content"
) -> Html:
    """A whole page around `body`; `content` is the id of its main part.

    `here` is the page's place in the bar, `styles` are files that it needs beside the usual ones.
    """
    return Html(
        _PAGE.format(
            title=text(title),
            links="\n".join(_links((*_STYLES, *styles))),
            places=joined(_place(path, name, path == here) for path, name in _PLACES),
            body=body,
            content=content,
            keys=joined(_key(keys, what) for keys, what in _KEYS),
        )
    )


def _links(styles: Sequence[str]) -> list[Html]:
    there = assets()
    return [
        element("link", rel="icon", href=address("icon.svg"), type="image/svg+xml"),
        element("script", src=address("theme.js")),
        *(element("link", rel="stylesheet", href=address(name)) for name in styles if name in there),
        *(element("link", rel="modulepreload", href=address(name)) for name in _PARTS),
        *(element("script", type="module", src=address(name)) for name in _SCRIPTS if name in there),
    ]


def _place(path: str, name: str, current: bool) -> Html:
    return element("a", name, href=path, aria_current="page" if current else None)


def _key(keys: str, what: str) -> Html:
    strokes = joined(element("kbd", key) for key in keys.split())
    return joined([element("dt", strokes), element("dd", what)])


def plain_page(
    title: str, *content: Html, here: str = "", styles: Sequence[str] = (), kind: str | None = None
) -> Html:
    """A whole page of one column; `kind` is the class of its main part."""
    main = element("main", *content, id="content", class_=kind, tabindex="-1")
    return page(title, frame(main, kind="one"), here, styles)


def problem_page(title: str, sentence: str) -> Html:
    """The page of an error."""
    way = element("p", element("a", "All sessions", href="/"))
    return plain_page(title, element("h1", title), element("p", sentence), way, kind="problem")


def frame(*columns: Html, kind: str = "") -> Html:
    """Columns side by side: `kind` is "one", or "" for a list and a page."""
    return element("div", *columns, class_=f"frame {kind}".strip())


def standalone_page(title: str, body: Html, styles: Sequence[str]) -> str:
    """A page that needs no script, no font and no network; these files dress it as those of `kith serve`."""
    style = _NO_BAR + "".join(assets()[name].decode() for name in styles)
    digest = f"sha256-{base64.b64encode(sha256(style.encode()).digest()).decode()}"
    return _ALONE.format(digest=digest, style=style, title=text(title), body=body)
