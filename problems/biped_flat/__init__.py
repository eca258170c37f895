"""The biped that walks on level ground: problem, robot, expected answer."""
