"""The report: its data, the verdict, and how errors are explained. Data only."""
