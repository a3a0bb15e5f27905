"""Records in arrays of files: npy, MATLAB, HDF5, CSV and Parquet, laid out as the caller says."""
