"""What measured hardware says: a catalogue of actuators, power laws of them, and of structure.

`catalog` holds the modules, `fits` computes the laws from them, `actuator` and `structure` are
the laws as functions of floats, NumPy or JAX values. Importing this package reads nothing.
"""
