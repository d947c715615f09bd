"""Start a program that ends when kith does, however that ends (Linux): `leash.py KITHS-PID PROGRAM ARGS ...`.

It becomes that program, so there is no process in between. Source of the number: prctl(2), PR_SET_PDEATHSIG.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for a SIGTERM at the end of our parent, then be the program."""
    parent, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):  # kith ended before it was asked for
        sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
