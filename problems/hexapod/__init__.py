"""The hexapod that presses a button: problem, robot, expected answer."""
