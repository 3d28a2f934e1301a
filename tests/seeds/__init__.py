"""The documents that nbaccel grew from: their examples, run as they are but for the import line."""
