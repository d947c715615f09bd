"""Loading modules without a look for garbage."""

import gc

from kith.core.feature import quick_loading


def test_garbage_is_looked_for_again_afterwards() -> None:
    with quick_loading():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_looks_for_none_is_left_alone() -> None:
    gc.disable()
    try:
        with quick_loading():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
