"""Pictures as SVG, and the page that holds them: pure functions from arrays to text, without a network."""
