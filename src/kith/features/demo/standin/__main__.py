"""`python -m kith.features.demo.standin`: a stand-in server as a process of its own."""

from kith.features.demo.standin.server import main

if __name__ == "__main__":
    main()
