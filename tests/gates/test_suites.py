"""Files of tests, taken apart."""

from files_of_tests import CPP, PYTHON
from kith.gates.suites import find_parts, is_inert


def test_tests_of_python_by_their_names() -> None:
    parts = find_parts("test_m.py", PYTHON)
    assert [part.name for part in parts] == ["test_a", "test_b", "TestC.test_one", "TestC.test_two"]
    assert [part.asserts for part in parts] == [True, False, True, True]
    for part in parts:
        assert PYTHON[part.start : part.end].decode() == part.text
    assert parts[0].text.startswith("# about a\n@pytest")


def test_tests_of_cpp_by_their_macros() -> None:
    parts = find_parts("m_test.cc", CPP)
    assert [part.name for part in parts] == ["Suite.Zero", "Fixture.One", "adds (twice)"]
    assert [part.asserts for part in parts] == [True, False, True]
    for part in parts:
        assert CPP[part.start : part.end].decode() == part.text


def test_a_module_that_only_defines_does_nothing_as_a_script() -> None:
    defines = b'"""T."""\nimport a\nB = 1\n\n\n@a.mark\ndef test_c():\n    assert B\n\n\nclass D:\n    e = 1'
    assert is_inert(defines)
    for more in (
        b"test_c()\n",
        b"if __name__ == '__main__':\n    test_c()\n",
        b"for c in ():\n    c()\n",
        b"(\n",
    ):
        assert not is_inert(defines + b"\n" + more)
