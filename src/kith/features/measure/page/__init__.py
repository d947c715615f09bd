"""What was measured, on the page of `kith serve` and as a page by itself."""
