"""Problems that come with the project: one folder each, with robot, problem.py and README."""
