"""How features are judged: linear probes, how their strength is chosen, and the protocols.

Nothing here knows where the features come from.
"""
