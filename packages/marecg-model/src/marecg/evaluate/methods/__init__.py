"""Where features come from: the encoder, the hand, MiniRocket, a ResNet, somebody's file; and zero-shot.

Each is a `Method`.
"""
