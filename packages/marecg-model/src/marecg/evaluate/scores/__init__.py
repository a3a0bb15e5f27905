"""From scores to numbers: AUC, intervals, tests, the report and the predictions it keeps.

Nothing here fits anything.
"""
