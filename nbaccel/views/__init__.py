"""What every view draws, as text and rows, and how a head is found and asked from outside."""
