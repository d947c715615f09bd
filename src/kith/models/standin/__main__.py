"""`python -m kith.models.standin`: a stand-in server as a process of its own."""

from kith.models.standin.server import main

if __name__ == "__main__":
    main()
