"""How much memory each engine takes for a model, by its own rules; pure arithmetic over ModelFacts."""
