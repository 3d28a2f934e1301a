"""Real heads, whole: real processes on machines of other vendors, made of files, tools and a compiled NVML."""
