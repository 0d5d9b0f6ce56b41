"""Regions: pieces of the user's code run once on abstract values, kept as graphs."""
