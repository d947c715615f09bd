"""`kith bench`: what a model can do on this machine, and how fast."""
