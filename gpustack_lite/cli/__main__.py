"""`python -m gpustack_lite.cli`."""

from gpustack_lite.cli import main

if __name__ == "__main__":
    main()
