"""What generated code calls: the ops, which function a call means, and the engine they ask.

The ops dispatch by value and do nothing else; what they ask of an engine is in `protocol`, which
engine is asked in `engines`. Read `ops` first.
"""
