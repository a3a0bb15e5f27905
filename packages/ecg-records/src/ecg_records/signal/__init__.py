"""Process signals as arrays: filters, mains hum, leads, units and quality."""
