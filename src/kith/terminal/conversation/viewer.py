"""Something long on a screen of its own: to be scrolled through, and left by Esc or q."""

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window


class _Page:
    """Lines, each with its own colours, and the first of them that is seen."""

    def __init__(self, text: str) -> None:
        self.lines = text.rstrip("\n").split("\n")
        self.first = 0

    def move(self, rows: int, height: int) -> None:
        self.first = max(0, min(self.first + rows, len(self.lines) - height))

    def shown(self, height: int) -> StyleAndTextTuples:
        found: StyleAndTextTuples = []
        for line in self.lines[self.first : self.first + height]:
            found += [*to_formatted_text(ANSI(line)), ("", "\n")]
        return found


async def view(title: str, text: str) -> None:
    """Show a text with colours (ANSI) until a key says that it is enough."""
    page, keys = _Page(text), KeyBindings()

    def height() -> int:
        return app.output.get_size().rows - 1

    def bind(rows: int, *names: str) -> None:
        for name in names:

            @keys.add(name)
            def _(event: KeyPressEvent) -> None:
                page.move(rows, height())

    bind(-1, "up", "k", "c-p")
    bind(1, "down", "j", "c-n", "enter")
    bind(-20, "pageup", "b", "c-b")
    bind(20, "pagedown", "space", "c-f")
    bind(-len(page.lines), "home", "g")
    bind(len(page.lines), "end", "G")

    @keys.add("q")
    @keys.add("escape", eager=True)
    @keys.add("c-c")
    @keys.add("c-d")
    @keys.add("c-o")
    def _(event: KeyPressEvent) -> None:
        event.app.exit()

    foot = f" {title}   arrows and PageDown move, q goes back"
    body = Window(FormattedTextControl(lambda: page.shown(height()), show_cursor=False), wrap_lines=False)
    bar = Window(FormattedTextControl(foot), height=1, style="reverse")
    app: Application[None] = Application(
        layout=Layout(HSplit([body, bar])), key_bindings=keys, full_screen=True
    )
    app.ttimeoutlen = 0.05
    await app.run_async()
