"""Foreign names for documents: nothing in them can end a line, hide, or turn the direction of the text."""


def visible(name: str) -> str:
    """A name as it is where every character shows, else with escapes for those that do not."""
    return (
        name if name.isprintable() else "".join(each if each.isprintable() else _spell(each) for each in name)
    )


def _spell(char: str) -> str:
    return ascii(char)[1:-1]


def code(name: str) -> str:
    """A name as Markdown code, safe inside a table too."""
    shown = visible(name).replace("|", "\\|")
    fence = "``" if "`" in shown else "`"
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
