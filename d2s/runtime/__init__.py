"""What generated code calls: the ops, which function a call means, and the engine they ask.

Read `ops` first: they dispatch by value and do nothing else. What they ask of an engine is in
`protocol`, which engine that is in `engines`, and what a call of the user's runs in `calls`.
"""
