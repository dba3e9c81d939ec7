"""The report: its data, the verdict, and the explanation of errors. Data only."""
