"""Test runners, a module for each family: how it reports, how its report is read, how tests are chosen."""
