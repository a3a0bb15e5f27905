"""Records in array files (npy, MATLAB, HDF5, CSV, Parquet), with a layout from the caller."""
