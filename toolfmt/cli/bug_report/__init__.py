"""What `toolfmt report-bug` prints, with the user's text masked. Only the command line imports it."""
