"""The parts of `shared.frameworks.processes`: commands side by side, each framework's launcher, and the network they are on."""
