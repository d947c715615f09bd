"""Languages beside Python, C++ and JavaScript: how their tests are found, run and read."""

from kith.core.feature import Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "languages",
    "tests of Rust, Go, Java, Ruby, PHP, Perl, C#, Swift, Dart and others",
    ecosystems=(
        _here("rust:RUST"),
        _here("go:GO_MODULES"),
        _here("jvm:MAVEN"),
        _here("jvm:GRADLE"),
        _here("ruby:RUBY"),
        _here("php:PHP"),
        _here("one_command:PERL"),
        _here("one_command:SHELL"),
        _here("one_command:DOTNET"),
        _here("one_command:USUAL"),
    ),
)
