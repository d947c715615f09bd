"""Source text: its language, and how comments begin in it."""

from posixpath import splitext
from typing import Final

from kith.core.patterns import lazy_pattern

_NAMES = """
    Ada: .adb .ads; Assembly: .asm .s; C: .c; C header: .h; C#: .cs; C++: .cc .cpp .cxx; Clojure: .clj .cljs
    C++ header: .hh .hpp .hxx .inl .ipp; CMake: .cmake; CSS: .css .less .sass .scss; CUDA: .cu .cuh; D: .d
    Cython: .pxd .pyx; Dart: .dart; Elixir: .ex .exs; Elm: .elm; Erlang: .erl .hrl; F#: .fs .fsx; Go: .go
    Fortran: .f .f03 .f90 .f95 .for; GraphQL: .gql .graphql; Groovy: .gradle .groovy; HCL: .hcl .tf
    Haskell: .hs; HTML: .htm .html .jinja .jinja2; INI: .cfg .conf .ini; Java: .java; Julia: .jl; JSON: .json
    JavaScript: .cjs .js .jsx .mjs; Jupyter: .ipynb; Kotlin: .kt .kts; LaTeX: .tex; Lisp: .el .lisp .scm
    Lua: .lua; Makefile: .mak .mk; Markdown: .markdown .md; Meson: .meson; Nim: .nim; Nix: .nix
    OCaml: .ml .mli; Objective-C: .m .mm; PHP: .php; Pascal: .pas; Perl: .pl .pm .t; PowerShell: .ps1 .psm1
    Protocol Buffers: .proto; Python: .py .pyi .pyw; R: .r; reStructuredText: .rst; Ruby: .gemspec .rake .rb
    Rust: .rs; SQL: .sql; SVG: .svg; Scala: .scala; Shell: .bash .bats .fish .sh .zsh; Starlark: .bzl
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
_SHEBANG: Final = lazy_pattern(r"#!\s*\S*?/(?:env\s+(?:-S\s+)?)?([a-z]+)[\d.]*(?:\s|$)")
# What a project is not written in, however much of it there is.
_NO_CODE = "HTML INI JSON Jupyter LaTeX Markdown SVG Text TOML XML YAML reStructuredText"
NO_CODE: Final = frozenset(_NO_CODE.split())


def _by_ending() -> dict[str, str]:
    groups = (group.rpartition(":") for line in _NAMES.strip().split("\n") for group in line.split(";"))
    return {ending: name.strip() for name, _, endings in groups for ending in endings.split()}


_BY_ENDING: Final = _by_ending()


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


# --- comments -------------------------------------------------------------------------------------

HASHED = """
    CMake Dockerfile Elixir GraphQL HCL INI Julia Makefile Meson Nim Nix Perl PowerShell Python R Ruby Shell
    Starlark TOML Tcl YAML Cython
"""
DASHED: Final = frozenset({"Ada", "Elm", "Haskell", "Lua", "SQL", "VHDL"})
MARKED_UP: Final = frozenset({"HTML", "Markdown", "SVG", "Svelte", "Vue", "XML"})


_CPP = ".c .cc .cpp .cu .cxx .h .hh .hpp .hxx .inl .ipp"
CPP_ENDINGS: Final = frozenset(_CPP.split())
