"""One file per noun. A route translates HTTP and nothing else."""
