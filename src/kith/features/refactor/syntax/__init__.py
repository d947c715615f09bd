"""Refactorings by syntax tree, without a model: each is whole and parses, or refuses with one sentence."""
