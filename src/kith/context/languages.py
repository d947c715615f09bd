"""Which language a file is in, and how many of its lines are code, comment or blank."""

import re
from dataclasses import dataclass
from posixpath import splitext
from typing import Final

_NAMES = """
    Ada: .adb .ads; Assembly: .asm .s; C: .c; C header: .h; C#: .cs; C++: .cc .cpp .cxx; Clojure: .clj .cljs
    C++ header: .hh .hpp .hxx .inl .ipp; CMake: .cmake; CSS: .css .less .sass .scss; CUDA: .cu .cuh; D: .d
    Cython: .pxd .pyx; Dart: .dart; Elixir: .ex .exs; Elm: .elm; Erlang: .erl .hrl; F#: .fs .fsx; Go: .go
    Fortran: .f .f03 .f90 .f95 .for; GraphQL: .gql .graphql; Groovy: .gradle .groovy; HCL: .hcl .tf
    Haskell: .hs; HTML: .htm .html .jinja .jinja2; INI: .cfg .conf .ini; Java: .java; Julia: .jl; JSON: .json
    JavaScript: .cjs .js .jsx .mjs; Jupyter: .ipynb; Kotlin: .kt .kts; LaTeX: .tex; Lisp: .el .lisp .scm
    Lua: .lua; Makefile: .mak .mk; Markdown: .markdown .md; Meson: .meson; Nim: .nim; Nix: .nix
    OCaml: .ml .mli; Objective-C: .m .mm; PHP: .php; Pascal: .pas; Perl: .pl .pm; PowerShell: .ps1 .psm1
    Protocol Buffers: .proto; Python: .py .pyi .pyw; R: .r; reStructuredText: .rst; Ruby: .gemspec .rake .rb
    Rust: .rs; SQL: .sql; SVG: .svg; Scala: .scala; Shell: .bash .fish .sh .zsh; Starlark: .bzl
    Svelte: .svelte; Swift: .swift; TOML: .toml; Tcl: .tcl; Text: .txt; TypeScript: .cts .mts .ts .tsx
    VHDL: .vhd .vhdl; Verilog: .sv .svh .v; Visual Basic: .vb; Vue: .vue; XML: .xml .xsd .xsl
    YAML: .yaml .yml; Zig: .zig
"""
_WHOLE_NAMES: Final = {
    "CMakeLists.txt": "CMake",
    "Dockerfile": "Dockerfile",
    "Containerfile": "Dockerfile",
    "GNUmakefile": "Makefile",
    "Gemfile": "Ruby",
    "Jenkinsfile": "Groovy",
    "Makefile": "Makefile",
    "Rakefile": "Ruby",
    "SConstruct": "Python",
    "makefile": "Makefile",
    "meson.build": "Meson",
    "BUILD.bazel": "Starlark",
}
_PROGRAMS: Final = {
    "bash": "Shell",
    "node": "JavaScript",
    "perl": "Perl",
    "python": "Python",
    "ruby": "Ruby",
    "sh": "Shell",
    "zsh": "Shell",
}
_SHEBANG: Final = re.compile(r"#!\s*\S*?/(?:env\s+(?:-S\s+)?)?([a-z]+)[\d.]*(?:\s|$)")
# What a project is not written in, however much of it there is.
_NO_CODE = "HTML INI JSON Jupyter LaTeX Markdown SVG Text TOML XML YAML reStructuredText"
NO_CODE: Final = frozenset(_NO_CODE.split())


def _by_ending() -> dict[str, str]:
    groups = (group.rpartition(":") for line in _NAMES.strip().split("\n") for group in line.split(";"))
    return {ending: name.strip() for name, _, endings in groups for ending in endings.split()}


_BY_ENDING: Final = _by_ending()


@dataclass(frozen=True, slots=True)
class LineCount:
    """The lines of a text; what is neither blank nor comment is code, text in a docstring too."""

    lines: int = 0
    blank: int = 0
    comment: int = 0


def language_of(path: str, first_line: str = "") -> str:
    """The language's name, by the file's name, or by its `#!` where the name tells nothing; "" if unknown."""
    name = path.rpartition("/")[2]
    if known := _WHOLE_NAMES.get(name):
        return known
    ending = splitext(name)[1].lower()
    if ending or not first_line.startswith("#!"):
        return _BY_ENDING.get(ending, "")
    program = _SHEBANG.match(first_line[:200])
    return _PROGRAMS.get(program[1], "") if program else ""


# --- lines -------------------------------------------------------------------------------------

_HASHED = """
    CMake Dockerfile Elixir GraphQL HCL INI Julia Makefile Meson Nim Nix Perl PowerShell Python R Ruby Shell
    Starlark TOML Tcl YAML Cython
"""
_DASHED: Final = frozenset({"Ada", "Elm", "Haskell", "Lua", "SQL", "VHDL"})
_MARKED_UP: Final = frozenset({"HTML", "Markdown", "SVG", "Svelte", "Vue", "XML"})
_PLAIN: Final = frozenset({"JSON", "Jupyter", "Text", "reStructuredText"})
_BLANK: Final = re.compile(r"^[ \t\r\f\v]*+$", re.M)
_LINE: Final = r"^[ \t]*+{}[^\n]*+"
_COMMENTS: Final = {
    **dict.fromkeys(_HASHED.split(), re.compile(_LINE.format(r"\#"), re.M)),
    **dict.fromkeys(_DASHED, re.compile(_LINE.format("--"), re.M)),
    **dict.fromkeys(_MARKED_UP, re.compile(r"^[ \t]*+<!--.*?(?:-->|\Z)", re.M | re.S)),
    **dict.fromkeys(("Clojure", "Lisp"), re.compile(_LINE.format(";"), re.M)),
    **dict.fromkeys(("Erlang", "LaTeX"), re.compile(_LINE.format("%"), re.M)),
    "Fortran": re.compile(_LINE.format("!"), re.M),
    "OCaml": re.compile(r"^[ \t]*+\(\*.*?(?:\*\)|\Z)", re.M | re.S),
    "Visual Basic": re.compile(_LINE.format("'"), re.M),
}
_SLASHED: Final = re.compile(r"^[ \t]*+(?://[^\n]*+|/\*.*?(?:\*/|\Z))", re.M | re.S)


def count_lines(language: str, text: str) -> LineCount:
    """How many lines a text has, and of which sort.

    Told by patterns: a line in a long string that looks like a comment counts as one.
    """
    if not text:
        return LineCount()
    whole = text.count("\n") + (not text.endswith("\n"))
    blank = sum(1 for _ in _BLANK.finditer(text)) - text.endswith("\n")
    if not language or language in _PLAIN:
        return LineCount(whole, blank, 0)
    found = _COMMENTS.get(language, _SLASHED).findall(text)
    comment = sum(1 + each.strip().count("\n") for each in found)
    inside = sum(len(_BLANK.findall(each)) for each in found if "\n" in each)
    return LineCount(whole, blank, min(comment - inside, whole - blank))
