"""The quadruped in a hurry: problem and expected answer; the robot is quadruped_torque's."""
