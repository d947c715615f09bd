"""Requests of other programs to the models that kith knows: on its terms, each in a session of its own."""
