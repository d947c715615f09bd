"""Pages become text: characters, Markdown, and nothing that people do not see or that a template obeys."""

import asyncio
import sys
from pathlib import Path

import pytest

from kith.features.browse.address import parse_address
from kith.features.browse.faults import PageError
from kith.features.browse.fetching import Response
from kith.features.browse.page import decode, is_text, make_harmless, read_page

ADDRESS = parse_address("https://example.org/docs/page")


def response(body: bytes, kind: str = "text/html", charset: str = "", status: int = 200) -> Response:
    return Response(ADDRESS, status, kind, charset, body)


def read(body: str, kind: str = "text/html") -> str:
    return asyncio.run(read_page(response(body.encode(), kind)))


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("é".encode(), "", "é"),
        ("é".encode(), "utf-8", "é"),
        ("é".encode("latin-1"), "utf-8", "é"),  # the server is wrong
        (b"\x93x\x94", "iso-8859-1", "“x”"),  # as browsers read it
        ("Ж".encode("koi8-r"), "koi8-r", "Ж"),
        (b'<meta charset="shift_jis">' + "日".encode("shift_jis"), "", '<meta charset="shift_jis">日'),
        (b'<meta charset="shift_jis">' + "日".encode("shift_jis"), "no-such", '<meta charset="shift_jis">日'),
        ("é".encode("utf-16"), "ascii", "é"),  # its byte order mark says so
        (b"\xef\xbb\xbfx", "", "x"),
        (b"abc-", "punycode", "abc-"),
        (b"\\u0041", "unicode_escape", "\\u0041"),
        (b"nop", "rot13", "nop"),
    ],
)
def test_text_is_read_in_its_encoding(body: bytes, charset: str, text: str) -> None:
    assert decode(body, charset) == text


def test_a_character_that_was_cut_changes_no_encoding() -> None:
    assert decode("é é".encode()[:-1], "", cut=True) == "é \ufffd"


def test_a_page_becomes_markdown_without_what_is_hidden() -> None:
    page = """<html><body><nav>Menu</nav><main><h1 id=a>Title</h1><p style="display:none">one</p>
        <p hidden>two</p><!-- three --><script>four</script><template>five</template><a href="#a">up</a>
        <a href="x.html">more</a>
        <img src="data:image/png;base64,AAAA"><table><tr><th>k</th></tr><tr><td>v</td></tr></table>
        <pre><code class="language-py">f()\n</code></pre></main></body></html>"""
    text = read(page)
    assert text.startswith("# Title") and "```py\nf()\n```" in text and "| k |" in text
    assert "[more](https://example.org/docs/x.html)" in text and "up" in text and "#a" not in text
    assert not any(word in text for word in ("one", "two", "three", "four", "five", "Menu", "base64"))


def test_text_stays_as_it_is() -> None:
    assert read("# a <b>\n", "text/markdown") == "# a <b>"
    assert read('{"a": 1}', "application/json") == '{"a": 1}'


def test_binary_data_is_no_text() -> None:
    with pytest.raises(PageError) as caught:
        read("a\0b", "text/plain")
    assert caught.value.why == "kind"


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        *(("text/html", True), ("text/x-python", True), ("application/json", True), ("", True)),
        *(("application/ld+json", True), ("application/vnd.api+json", True), ("application/xhtml+xml", True)),
        *(("image/png", False), ("application/pdf", False), ("application/octet-stream", False)),
        *(("application/jsonlike-archive", False), ("video/mp4", False), ("image/svg", False)),
    ],
)
def test_only_text_is_wanted(kind: str, wanted: bool) -> None:
    assert is_text(response(b"", kind)) == wanted
    assert not is_text(response(b"", kind, status=404))


@pytest.mark.parametrize("page", ["<div>" * 200_000, "<ul><li>" * 50_000, "<" * 500_000, "<!--" * 100_000])
def test_pages_that_choke_parsers_end(page: str) -> None:
    try:
        read(page)
    except PageError as error:
        assert error.why == "markup"


def test_control_tokens_are_broken_up_and_counted() -> None:
    tokens = (
        *("<|im_start|>", "<|im_end|>", "<|eot_id|>", "<｜User｜>", "<start_of_turn>", "</s>", "<s>"),
        *("[INST]", "[/INST]"),
        *("<tool_call>", "</think>", "<<SYS>>", "[TOOL_CALLS]", "<|channel>", "<turn|>", "<unused12>"),
        *("[gMASK]", "<sop>"),
        *("<minimax:tool_call>", "<function=run>", "<fim_prefix>", "<|\u200bim_start|>", "<\u2060|eot_id|>"),
    )  # fmt: skip
    clean, found = make_harmless("\n".join(tokens))
    assert found == len(tokens)
    assert not any(token in clean for token in tokens)
    assert make_harmless(clean) == (clean, 0)


def test_ordinary_text_and_code_stay() -> None:
    text = "a < b | c > d, x <s, <section>, vec<string>, `[INSTALL]`, a<-b, <svg>, <s:x>, |> and <| f\n\tend"
    assert make_harmless(text) == (text, 0)


def test_unseen_characters_go() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "run it")
    text, _ = make_harmless(f"a\u200bb\u202ec{hidden}d\x1b[31m\x00e\r\nf")
    assert text == "abcd[31me\nf"
    assert (
        make_harmless("نمی\u200cدانم 👩\u200d💻")[0] == "نمی\u200cدانم 👩\u200d💻"
    )  # joiners are letters' own


def test_the_program_that_converts_imports_nothing_of_kith() -> None:
    convert = sys.modules["kith.features.browse.page"].__file__
    lines = Path(convert or "").with_name("convert.py").read_text().splitlines()
    assert not [line for line in lines if line.startswith(("import kith", "from kith"))]
