"""What `toolfmt report-bug` tells of a fault, without what is the user's. Only the command line imports it."""
