"""The biped that climbs a step: problem and expected answer; the robot is biped_flat's."""
