"""`toolfmt training`: render a dataset, write its rows, count what is trained."""
