"""What counts in a report: selected and ignored findings, configuration files, baselines, and what fails."""
