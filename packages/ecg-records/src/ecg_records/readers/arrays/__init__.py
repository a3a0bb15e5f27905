"""Read records from array files (npy, MATLAB, HDF5, CSV, Parquet), whose layout the user describes."""
