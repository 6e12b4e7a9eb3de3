"""The public door: serves the OpenAI surface from memory and relays everything else to the server."""
