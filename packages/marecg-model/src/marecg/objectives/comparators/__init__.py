"""Methods of others on our encoder and corpus, a file for each or for two alike: docs/comparison.md."""
