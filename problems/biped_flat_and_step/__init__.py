"""One biped for level ground and for a step: problem, expected answer, what sharing costs."""
