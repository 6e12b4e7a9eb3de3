"""Bodies that come in (refused when they hold anything unknown) and, for OpenAPI, the shapes that go out."""
