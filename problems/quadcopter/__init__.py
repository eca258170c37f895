"""The quadcopter that flies a circle: problem, robot, expected answer."""
