"""The ground of the package: errors, files, tables, text folding and XML entities."""
