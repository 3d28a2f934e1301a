"""Libraries of Hugging Face in a gang."""
