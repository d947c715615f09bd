"""What runs without being told to is named with who runs it; ordinary edits are not."""

import json

import pytest

from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change
from kith.edits import runs_by_itself

NAMES = """
.github/workflows/ci.yml .gitlab-ci.yml Jenkinsfile .circleci/config.yml azure-pipelines.yml sub/.travis.yml
.husky/pre-commit tools/hooks/pre-push .pre-commit-config.yaml lefthook.yml .gitattributes .gitmodules
.vscode/tasks.json .vscode/settings.json .idea/workspace.xml .devcontainer/devcontainer.json me.code-workspace
.vimrc .exrc .nvim.lua .dir-locals.el .bashrc .profile .zshenv .envrc .mise.toml .ssh/authorized_keys
sitecustomize.py src/usercustomize.py lib/extra.pth setup.py conftest.py src/conftest.py .npmrc .yarnrc.yml
pip.conf build.rs crates/one/build.rs .cargo/config.toml AGENTS.md docs/CLAUDE.md .claude/settings.json
.cursor/mcp.json .cursorrules .mcp.json .codex/config.toml .github/copilot-instructions.md .gdbinit
sitecustomize/__init__.py lib/usercustomize.so .hg/hgrc .jj/repo/config.toml .latexmkrc .ycm_extra_conf.py
.bsp/evil.json hie.yaml .luarc.json .pnp.cjs .pdm-python .venv poetry.toml .terraform/x .idx/dev.nix .replit
.rbenv-vars .user.ini build.gitlab-ci.yml .gitlab/deploy.yml commitlint.config.js user.clj
tools/bazel .bazelversion .formatter.exs ansible.cfg renovate.json prek.toml
flake.nix .envrc.local tailwind.config.ts jupyter_server_config.py profile_default/startup/a.py CRUSH.md .pi/x
.rooignore downloads/a.library-ms .bashrc.d/x.sh
.VSCode/Tasks.json AGENTS.MD .env\u200brc .bashrc. .envrc::$DATA
"""
ORDINARY = """
utils.py src/main.rs docs/hooks.md src/hooks/useState.ts tests/conftest.py pkg/tests/unit/conftest.py
Makefile CMakeLists.txt Dockerfile docker-compose.yml README.md .gitignore .editorconfig requirements.txt
src/setup.pyi update tests/test_setup.py workflows/ci.yml vscode/tasks.json agents.py envrc build.rs.md
main.code profile .env.example claude/readme.md tsconfig.json src/build.rust go.mod scripts/run.sh
"""


def new(path: str, content: bytes = b"payload\n", mode: int = FILE) -> Change:
    return Change(path, None, content, mode, mode)


@pytest.mark.parametrize("path", NAMES.split())
def test_a_name_tells(path: str) -> None:
    assert runs_by_itself(new(path))
    assert runs_by_itself(Change(path, b"old\n", b"new\n"))
    assert runs_by_itself(Change(path, b"gone\n", None)).startswith("it is ")


@pytest.mark.parametrize("path", ORDINARY.split())
def test_ordinary_files_are_not_warned_of(path: str) -> None:
    for change in (new(path), Change(path, b"old\n", b"new\n"), Change(path, b"gone\n", None)):
        assert not runs_by_itself(change)


def test_links_and_programs_are_told_by_what_they_are() -> None:
    assert "link" in runs_by_itself(new("notes.txt", b"/etc/passwd", SYMLINK))
    assert "link" in runs_by_itself(Change("a", b"b", b"c", SYMLINK, SYMLINK))
    assert "program" in runs_by_itself(new("run.sh", mode=EXECUTABLE))
    assert "program" in runs_by_itself(Change("run.sh", b"x", b"x", EXECUTABLE, FILE))
    assert not runs_by_itself(Change("run.sh", b"x", b"y", EXECUTABLE, EXECUTABLE))
    assert not runs_by_itself(Change("run.sh", b"x", b"x", FILE, EXECUTABLE))
    assert "hooks" in runs_by_itself(Change("h/pre-commit", b"x", b"x", EXECUTABLE, FILE))


@pytest.mark.parametrize(
    ("path", "line", "harmless"),
    [
        ("requirements-dev.txt", "--extra-index-url https://evil.test", "flask>=3"),
        ("setup.cfg", "plugins = evil", "name = x"),
        (".pylintrc", "init-hook='import evil'", "disable=C0114"),
        ("pytest.ini", "addopts = -q -p evil", "addopts = -q"),
        ("pytest.ini", "addopts=-p evil", "addopts=-p no:cacheprovider"),
        ("tox.ini", "addopts = -q\n    -x -pevil", "addopts = -q\n    --pdb -p no:xdist"),
        ("setup.cfg", "addopts =\n    -q\n    # -p evil", "commands =\n    mkdir -p x"),
        ("setup.cfg", "[mypy]\n  plugins: evil", "[options.extras_require]\nplugins = x"),
        (".flake8", "[flake8:local-plugins]\nextension = X = evil", "# local-plugins"),
        ("tox.ini", "addopts=-pNAME", "    - mkdir -p build\n    -project"),
        ("pytest.ini", "plugins: evil", "markers =\n    plugins: tests of plugins"),
        (".coveragerc", "plugins =\n    evil", "# plugins: see below"),
        ("pylintrc.toml", "main.load-plugins = 'evil'", "main.jobs = 2"),
        ("pytest.toml", "addopts = ['-p', 'evil']", "addopts = ['-q', '-p', 'no:xdist']"),
        ("mypy.ini", "PLUGINS: evil", "warn_unused_ignores: true"),
        ("pyproject.toml", "tool.mypy.plugins = ['evil']", "tool.mypy.strict = true"),
        ("pyproject.toml", "tool.pylint.main.init-hook = 'evil'", "description = 'With plugins = fast'"),
        ("pyproject.toml", "tool.x.addopts = '-q -p evil'", "d = 'A tool with plugins: fast'"),
        ("pyproject.toml", "tool.x.addopts = [\n '-q',\n '-pevil']", "# plugins: see below"),
        ("pyproject.toml", "tool.x.addopts = ['-p', 'evil']", 'tool.x.cmd = """\n  --foo -p 8000\n"""'),
        (".eslintrc.json", '{"plugins": ["./evil"]}', '{"rules": {"semi": 2}}'),
        (".rubocop.yml", "require: ./evil", "Max: 3"),
        ("gradle.properties", "org.gradle.jvmargs=-javaagent:x.jar", "org.gradle.jvmargs=-Xmx2g"),
        ("action.yml", "    - run: evil", "description: x"),
        (".python-version", "./bin/python", "3.12.1"),
        (".tool-versions", "python path:./evil", "python 3.12.1"),
        (".clang-tidy", "ExtraArgs: ['-fplugin=./x.so']", "Checks: '*'"),
        ("Directory.Build.props", '<Import Project="x.targets" />', "<Version>2.0</Version>"),
        ("pnpm-workspace.yaml", "onlyBuiltDependencies: [x]", "packages: ['a/*']"),
    ],
)
def test_a_line_tells(path: str, line: str, harmless: str) -> None:
    old = b"first = 1\n"
    assert runs_by_itself(Change(path, old, old + line.encode() + b"\n"))
    assert not runs_by_itself(Change(path, old, old + harmless.encode() + b"\n"))
    assert not runs_by_itself(Change(path, line.encode(), line.encode() + b"\n# more\n"))


def package(before: object, after: object) -> str:
    return runs_by_itself(Change("package.json", json.dumps(before).encode(), json.dumps(after).encode()))


def test_a_package_is_warned_of_when_what_npm_runs_by_itself_changes() -> None:
    plain = {"name": "x", "scripts": {"test": "jest"}}
    assert not package(plain, {**plain, "version": "2", "scripts": {"test": "vitest", "build": "tsc"}})
    hooked = {**plain, "scripts": {"postinstall": "node x.js"}}
    assert package(plain, hooked) and package(plain, {**plain, "lint-staged": {"*": "x"}})
    assert not package(hooked, {**hooked, "version": "2"}) and not package(hooked, plain)
    assert runs_by_itself(new("package.json")) and runs_by_itself(new("package.json", b"[" * 100_000))
    assert runs_by_itself(new("composer.json", b'{"scripts": {"post-install-cmd": "x"}}'))
    assert not runs_by_itself(new("composer.json", b'{"scripts": {"test": "x"}}'))


def project(after: str, before: str = "") -> str:
    return runs_by_itself(Change("pyproject.toml", before.encode() or None, after.encode()))


def test_a_python_project_is_warned_of_when_what_builds_it_is_its_own() -> None:
    known = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    own = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    assert not project(known) and not project(known + '[project]\nname = "x"\n', known)
    assert project(own) and project(own, known) and not project(own + "[tool.x]\na = 1\n", own)
    assert project(known + '[tool.hatch.build.hooks.custom]\npath = "x.py"\n', known)
    assert project("payload\nnot TOML")


@pytest.mark.parametrize(
    "text",
    [
        'package.build = "evil.rs"',
        'package = {name = "x", "build" = "evil.rs"}',
        "[lib]\n'proc-macro' = true",
        'lib.crate-type = ["proc-macro"]',
        '[project]\nname = "x"\nbuild = "evil.rs"',
        'lib.crate_type = "proc-macro"',
        "[package",
    ],
)
def test_a_crate_is_warned_of_when_cargo_runs_or_loads_what_it_names(text: str) -> None:
    plain = b'[package]\nname = "x"\n[build-dependencies]\ncc = "1"\n'
    assert runs_by_itself(Change("a/Cargo.toml", plain, text.encode()))
    assert not runs_by_itself(Change("a/Cargo.toml", text.encode(), plain))
    if text != "[package":
        assert not runs_by_itself(Change("a/Cargo.toml", text.encode(), b"# more\n" + text.encode()))


@pytest.mark.parametrize("kind", ["5", "true", '"rlib"', '["cdylib"]', '{a = "proc-macro"}'])
def test_a_crate_of_another_kind_is_not_warned_of(kind: str) -> None:
    assert not runs_by_itself(new("Cargo.toml", f"[lib]\ncrate-type = {kind}\n".encode()))


def test_a_crate_that_cannot_be_read_is_not_said_to_name_a_program() -> None:
    template = b"[package]\nname = {{ name }}\n"
    assert runs_by_itself(new("Cargo.toml", template)).endswith("be read")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[pytest]\naddopts =\n    -q\n", "[pytest]\naddopts =\n    -q\n    -p evil\n"),
        ("[mypy]\nplugins = good\n", "[mypy]\nplugins = good,\n    evil\n"),
    ],
)
def test_a_plugin_in_a_line_of_its_own_is_warned_of_and_its_removal_is_not(before: str, after: str) -> None:
    assert runs_by_itself(Change("setup.cfg", before.encode(), after.encode()))
    assert not runs_by_itself(Change("setup.cfg", after.encode(), before.encode()))


def test_what_a_life_cycle_script_starts_counts_as_well() -> None:
    before = {"scripts": {"prepare": "npm run build", "build": "tsc", "test": "jest"}}
    assert package(before, {"scripts": {**before["scripts"], "build": "tsc && ./evil"}})
    assert not package(before, {"scripts": {**before["scripts"], "test": "vitest"}})
    assert package({}, {"packageManager": "yarn@https://evil.test/yarn.js"})
    assert not package({}, {"packageManager": "yarn@4.1.0"})
