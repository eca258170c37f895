"""The hopper: a motor class as a design variable."""
