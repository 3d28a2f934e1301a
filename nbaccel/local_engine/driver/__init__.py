"""The driver's side: starting or joining a head, and the connection on which output, notices and pictures arrive."""
