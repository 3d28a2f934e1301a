"""The head's objects: which processes refer to each value, where its bytes are, and how a lost one is made again."""
