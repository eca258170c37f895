"""The studies of Spielberg et al. (2017), run, summed up, tabulated and drawn."""
