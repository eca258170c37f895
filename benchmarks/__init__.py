"""One question per script; each prints a table and writes JSON."""
