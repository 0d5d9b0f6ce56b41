"""Programs with assertions, in a module whose assertions pytest does not rewrite."""


def counts_down(n):
    assert n >= 0, f"negative {n}"
    while n != 0:
        n -= 1
    return n
