"""Code that the checkpoint carries with it: copied into its folder and loaded from there as remote code."""
