"""The head's objects: who holds each value, where its bytes lie, and how a lost one is made again."""
