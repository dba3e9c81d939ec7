"""The chapters of a report: each asks the template one kind of question and knows nothing of the others."""
