"""Every SELECT and UPDATE, one module per subject, each function named after the question it answers."""
