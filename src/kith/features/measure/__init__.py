"""What was measured and what it says: benchmarks, profiles of models and builds, and why kith chose."""
