"""The command lines of MAR-ECG."""
