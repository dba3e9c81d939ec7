"""Text that arrives in pieces, read as if it were whole: the scanner, the literals it looks for, and spans."""
