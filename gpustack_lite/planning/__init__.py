"""Questions about models before anything runs: does it fit, where, and what would help. Pure; no server is needed."""
