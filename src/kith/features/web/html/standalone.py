"""A page that needs nothing beside itself: no script, no fonts, no network."""

import base64
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from kith.features.web.html.assets import assets
from kith.view.markup import Html, text

_NO_BAR: Final = ":root { --top: 0rem; }\n"  # the bar above the pages of `kith serve`
_PAGE: Final = """\
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


def standalone_page(title: str, body: Html, styles: Sequence[str]) -> str:
    """The page around `body`, dressed by these files as the pages of `kith serve` are."""
    style = _NO_BAR + "".join(assets()[name].decode() for name in styles)
    digest = f"sha256-{base64.b64encode(sha256(style.encode()).digest()).decode()}"
    return _PAGE.format(digest=digest, style=style, title=text(title), body=body)
