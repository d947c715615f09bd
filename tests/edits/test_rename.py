"""Names are exchanged where the syntax says they are names, and nowhere else."""

import keyword
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kith.core.errors import UsageError
from kith.edits.rename import holds_word, language_of, rename_symbol

PYTHON = b'''\
"""greet people"""
from app import greet as hello, greet  # greet
__all__ = ["greet", "greeting"]
__all__ += ("greet",)
names = ["greet"]

def greet(greet=1):
    global greet
    print(f"{greet!r} greet {a.greet(greet=greet)}", 'greet')
    return self.greet.greeting
'''
PYTHON_AFTER = b'''\
"""greet people"""
from app import salute as hello, salute  # greet
__all__ = ["salute", "greeting"]
__all__ += ("salute",)
names = ["greet"]

def salute(salute=1):
    global salute
    print(f"{salute!r} greet {a.salute(salute=salute)}", 'greet')
    return self.salute.greeting
'''
CPP = b"""\
#include "greet.h"
#define CALL(x) greet(x) /* greet */ "greet"
#ifdef greet
#endif
namespace greet { struct greet { int greet; ~greet(); }; }  // greet
int f() { goto greet; greet: return a->greet() + greet::g + sizeof("greet" R"(greet)"); }
"""
CPP_AFTER = b"""\
#include "greet.h"
#define CALL(x) salute(x) /* greet */ "greet"
#ifdef salute
#endif
namespace salute { struct salute { int salute; ~salute(); }; }  // greet
int f() { goto salute; salute: return a->salute() + salute::g + sizeof("greet" R"(greet)"); }
"""


def test_python() -> None:
    assert rename_symbol(PYTHON, "greet", "salute", "python") == (PYTHON_AFTER, 12)


def test_cpp_and_c() -> None:
    assert rename_symbol(CPP, "greet", "salute", "cpp")[0] == CPP_AFTER
    assert rename_symbol(b"int greet(void);\n", "greet", "class", "c") == (b"int class(void);\n", 1)


@pytest.mark.parametrize(
    ("language", "before", "after", "module"),
    [
        (
            "javascript",
            b"import {greet} from 'greet'; x.greet(`greet ${greet}`, {greet}) // greet\n",
            b"import {hi} from 'greet'; x.hi(`greet ${hi}`, {hi}) // greet\n",
            "tree_sitter_javascript",
        ),
        (
            "typescript",
            b"interface greet { greet: string } type T = greet['greet']\n",
            b"interface hi { hi: string } type T = hi['greet']\n",
            "tree_sitter_typescript",
        ),
        (
            "tsx",
            b"const e = <greet greet={greet}>greet</greet>\n",
            b"const e = <hi hi={hi}>greet</hi>\n",
            "tree_sitter_typescript",
        ),
        (
            "go",
            b'package greet\nfunc (a *T) greet() { b.greet("greet") }\n',
            b'package hi\nfunc (a *T) hi() { b.hi("greet") }\n',
            "tree_sitter_go",
        ),
        (
            "rust",
            b'fn greet() { println!("greet {}", greet); S { greet } }\n',
            b'fn hi() { println!("greet {}", hi); S { hi } }\n',
            "tree_sitter_rust",
        ),
    ],
)
def test_optional_languages(language: str, before: bytes, after: bytes, module: str) -> None:
    pytest.importorskip(module)
    assert rename_symbol(before, "greet", "hi", language)[0] == after


def test_every_byte_around_is_kept() -> None:
    before = b"\xef\xbb\xbfgreet = '\xff\xfe'\r\nx = greet\r# \xe9\n\n\ty = greet"
    after = b"\xef\xbb\xbfhi = '\xff\xfe'\r\nx = hi\r# \xe9\n\n\ty = hi"
    assert rename_symbol(before.replace(b"\n\n\t", b"\n"), "greet", "hi", "python") == (
        after.replace(b"\n\n\t", b"\n"),
        3,
    )


def test_a_file_without_the_name_is_not_even_parsed() -> None:
    assert rename_symbol(b"def broken(:\n", "greet", "salute", "python") == (b"def broken(:\n", 0)
    assert rename_symbol(b"# greet\n", "greet", "salute", "python") == (b"# greet\n", 0)


@pytest.mark.parametrize(
    ("old", "new", "language", "words"),
    [
        ("greet", "2nd", "python", "2nd is not a name in python"),
        ("greet", "class", "python", "class is a keyword of python"),
        ("greet", "delete", "cpp", "delete is a keyword of cpp"),
        ("greet", "f", "python", "f is already a name in line 3"),
        ("greet", "greet", "python", "nothing to do"),
        ("Class.greet", "hi", "python", "only plain names"),
        ("a::greet", "hi", "cpp", "only plain names"),
        ("gr$", "hi", "python", "gr$ is not a name in python"),
    ],
)
def test_refusals(old: str, new: str, language: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        rename_symbol(b"greet = 1\n\nf = greet\n", old, new, language)
    assert words in str(refused.value)


def test_what_does_not_parse_is_refused_except_in_cpp() -> None:
    with pytest.raises(UsageError, match="does not parse as python"):
        rename_symbol(b"def greet(:\n", "greet", "hi", "python")
    assert rename_symbol(b"EXPORT API int greet() {\n", "greet", "hi", "cpp")[1] == 1


def test_a_missing_grammar_is_named_only_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "tree_sitter_go", None
    )  # what Python keeps for a module that is not there
    assert rename_symbol(b"package main\n", "greet", "hi", "go") == (b"package main\n", 0)
    with pytest.raises(UsageError, match=r"kith-agent\[languages\]"):
        rename_symbol(b"package greet\n", "greet", "hi", "go")


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("src/B.HPP", "cpp"),
        ("a.c", "c"),
        ("a.tsx", "tsx"),
        ("a.rb", ""),
        ("Makefile", ""),
    ],
)
def test_languages(path: str, language: str) -> None:
    assert language_of(path) == language


def test_words_end_where_names_end() -> None:
    assert holds_word(b"x = greet()", "greet")
    assert not holds_word(b"greeting = regreet + greet_2 + \xc3\xa9greet", "greet")


NAME = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))
LINE = st.one_of(
    st.tuples(NAME, NAME).map(lambda pair: f"{pair[0]} = f'{pair[1]} {{{pair[0]}.{pair[1]}}}'"),
    st.tuples(NAME, NAME).map(lambda pair: f"def {pair[0]}({pair[1]}=1): return '{pair[0]}'  # {pair[1]}"),
    NAME.map(lambda name: f"__all__ = ['{name}', 'other']"),
    NAME.map(lambda name: f"import {name}.{name}"),
)


@given(st.lists(LINE, max_size=8), st.sampled_from(["\n", "\r\n"]), st.data())
def test_there_and_back_restores_the_bytes(lines: list[str], end: str, data: st.DataObject) -> None:
    source = end.join(lines).encode()
    used = sorted({word for line in lines for word in line.replace("'", " ").split() if word.isidentifier()})
    old = data.draw(st.sampled_from(used or ["missing"]))
    assume(not keyword.iskeyword(old))
    renamed, count = rename_symbol(source, old, "fresh_name", "python")
    assert count == renamed.count(b"fresh_name")
    if count:
        assert rename_symbol(renamed, "fresh_name", old, "python") == (source, count) or holds_word(
            renamed, old
        )
