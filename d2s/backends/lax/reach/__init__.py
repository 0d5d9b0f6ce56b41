"""Which functions a static function may call, and which outside names those read and write.

Read `walk` for the one look at everything, `reach` for what is made of it.
"""
