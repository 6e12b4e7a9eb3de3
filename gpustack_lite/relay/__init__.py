"""An HTTP/1.1 client of our own: pooled connections that relay bytes as they come, to engines and to the server."""
