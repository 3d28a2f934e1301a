"""The snapshot that every view draws, its texts and rows, and ways to find and ask a head from outside."""
