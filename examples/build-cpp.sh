#!/bin/sh
# Build a C++ library from a request, tests first: `build-cpp.sh NEW_FOLDER "REQUEST"`. Needs git, CMake and a compiler.
set -eu
mkdir "$1" && cd "$1" && mkdir src tests
cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(example CXX)
set(CMAKE_CXX_STANDARD 17)
enable_testing()
file(GLOB sources CONFIGURE_DEPENDS src/*.cc)
file(GLOB tests CONFIGURE_DEPENDS tests/*_test.cc)
foreach(test ${tests})
  get_filename_component(name ${test} NAME_WE)
  add_executable(${name} ${test} ${sources})
  target_include_directories(${name} PRIVATE src)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
END
echo 'inline const char* version() { return "0.1"; }' > src/version.h
printf '#include "version.h"\nint main() { return version()[0] == 0; }\n' > tests/version_test.cc
git init -q && git add . && git -c user.name=example -c user.email=example@localhost commit -qm "An empty library"
# A small request needs no pass that simplifies the code.
kith build --yes --no-refine "$2"
git status --short
