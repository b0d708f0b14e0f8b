"""The parts of the stress benchmark."""
