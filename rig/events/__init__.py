"""The event journal: the seam between what runs and what is read afterwards."""
