"""The parts of the network: modules that know neither data nor losses."""
