"""Show measurements on the page of `kith serve`, and as a page of its own."""
