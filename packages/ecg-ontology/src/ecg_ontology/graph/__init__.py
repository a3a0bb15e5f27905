"""The graph itself: concepts, their order and number, the way from codes to concepts, and soft targets."""
