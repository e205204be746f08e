"""Reproductions without a model: the released schedulers and connectors, driven through their public calls."""
