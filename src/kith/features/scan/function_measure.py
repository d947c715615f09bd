"""What is measured of a function, in every language alike."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FunctionMeasure:
    """A function and how hard it is to follow. Lines count from 1; a nested function counts for itself.

    `cyclomatic` is 1 and one for each branch, loop, handler, case and logical operator (McCabe 1976).
    `cognitive` adds for each structure how deep it stands (after Campbell, Cognitive Complexity, 2018).
    `nesting` is the deepest level of control structures; `parameters` leaves `self` and `cls` out.
    """

    name: str
    first: int
    last: int
    lines: int
    cyclomatic: int
    cognitive: int
    nesting: int
    parameters: int
