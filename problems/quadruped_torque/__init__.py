"""The quadruped that walks with little torque: problem, robot, expected answer."""
