"""Parts of the command line: what it prints, and what `solve` can do beside solving."""
