"""Files, millivolts and milliseconds: read 12-lead ECG records of any common format, and measure them."""
