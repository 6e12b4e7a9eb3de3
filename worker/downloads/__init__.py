"""Files of repositories that this worker holds: fetched once, whole before anybody is told where they are."""
