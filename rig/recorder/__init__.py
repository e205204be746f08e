"""What the flight recorders left in a run folder, read back."""
