"""`python -m benchmarks.support` prints the table of docs/backends.md: how far each engine was tried on each device."""

from backends import registry, support

if __name__ == "__main__":
    print(support.table(registry.find(name) for name in registry.BUILTIN))
