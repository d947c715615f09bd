"""Models: providers that speak a server's protocol, wrappers of the same shape, and finding what is there."""
