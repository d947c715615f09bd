"""A profile as one page of HTML that needs nothing beside itself: no script, no fonts, no network."""

from importlib.resources import files
from typing import Final

from kith.app.measuring.profile import Profile
from kith.faces.html.profile import profile_html

_STYLES: Final = ("base.css", "profile.css")
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>kith profile</title>
<style>
{style}</style>
</head>
<body>
<div class="frame one">
<main>
{body}
</main>
</div>
</body>
</html>
"""


def profile_page(profile: Profile) -> str:
    """The whole page, in the dress of the pages of `kith serve`."""
    folder = files("kith.faces.html").joinpath("static")
    style = "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in _STYLES)
    return _PAGE.format(style=style, body=profile_html(profile))
