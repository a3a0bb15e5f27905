"""Find the findings in the texts of devices and reports, and whether a text denies or doubts them."""
