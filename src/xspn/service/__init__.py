"""The HTTP service: learned circuits behind an address, with the names, labels, errors and exactness of the library."""
