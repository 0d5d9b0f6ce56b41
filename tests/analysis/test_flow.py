"""What blocks take, give and share, as `Flow.dump` prints it; and the reads that may be unbound.

The tree that `Flow` gets has no exits in the middle of anything, and so have the sources here.
"""

import textwrap

import gast
import pytest

from d2s.analysis import Flow, Scopes
from d2s.converters.chains import FindChains
from d2s.pipeline import run
from d2s.source.parser import Unit


def flow_of(source: str) -> tuple[Flow, gast.FunctionDef]:
    """The flow of the function as it is when blocks become functions: `del` and chains are gone."""
    lines = textwrap.dedent(source).strip().splitlines(keepends=True)
    tree = gast.parse("".join(lines)).body[0]
    unit = Unit(tree, tree.name, "example.py", tuple(lines), ())
    function, *_ = run(unit, {}, until=FindChains.__name__)
    return Flow(function, Scopes()), function


def dump(source: str) -> str:
    flow, function = flow_of(source)
    return "\n".join(line.rstrip() for line in flow.dump(function).splitlines())


def reads(source: str) -> str:
    """The doubtful reads as `line name`; those of inner functions with `free` in front."""
    flow, function = flow_of(source)
    nodes = {id(node): node for node in gast.walk(function)}
    own = [f"{nodes[n].lineno} {nodes[n].id}" for n in flow.unbound_reads]
    free = [f"free {nodes[n].lineno} {nodes[n].id}" for n in flow.free_unbound_reads]
    return ", ".join([*sorted(own), *sorted(free)])


BLOCKS = {
    "a loop's state is written and read": (
        """
        def f(n):
            steps = 0
            while n > 1:
                n = n // 2
                steps += 1
            return steps
        """,
        "3 while: takes n steps, gives n steps",
    ),
    "a temporary of one iteration is dead": (
        """
        def f(n):
            while n > 1:
                half = n // 2
                n = half
            return n
        """,
        "2 while: takes n, gives n",
    ),
    "what the next iteration reads is live": (
        """
        def f(n):
            a = b = 0
            while n:
                a = b
                b = n
                n = n - 1
            return a
        """,
        "3 while: takes n a b, gives n a b",
    ),
    "what a loop only reads is no state": (
        """
        def f(n, limit):
            while n < limit:
                n = n * 2
            return n, limit
        """,
        "2 while: takes n, gives n",
    ),
    "a branch is live around the loop": (
        """
        def f(n, x):
            while n:
                if n > 3:
                    x = 1
                y = x
                n = n - 1
            return n
        """,
        """
        2 while: takes n x, gives n x
        3 if: takes x, gives x
        """,
    ),
    "the inner loop's temporary is dead in both": (
        """
        def f(n):
            while n:
                while n > 5:
                    t = n
                    n = t - 1
                n = n - 1
            return n
        """,
        """
        2 while: takes n, gives n
        3 while: takes n, gives n
        """,
    ),
    "a write that is overwritten is dead": (
        """
        def f(n, x):
            if n:
                x = 1
                y = 2
            else:
                x = 3
                y = 4
            x = 5
            return x, y
        """,
        "2 if: gives y",
    ),
    "a side that does not write passes the value through": (
        """
        def f(n, x):
            if n:
                x = 1
            return x
        """,
        "2 if: takes x, gives x",
    ),
    "a side that never completes takes no part": (
        """
        def f(n):
            if n:
                raise ValueError
            else:
                m = 2
            return m
        """,
        "2 if: gives m",
    ),
    "an if that returns gives nothing": (
        """
        def f(n):
            if n:
                return 1
            else:
                m = 2
                return m
        """,
        "2 if:",
    ),
    "writes to objects are no names": (
        """
        def f(n):
            while n:
                d = n["first"]
                d.x = 1
                n["first"] = d
            return n
        """,
        "2 while:",
    ),
    "a write at a position may give the name a new array": (
        """
        def f(n):
            while n:
                n[0] = 1
            return n
        """,
        "2 while: takes n, gives n",
    ),
    "a for target that is read later is state": (
        """
        def f(xs):
            x = y = 0
            for x in xs:
                y = x
            return x
        """,
        "3 for: takes x, gives x",
    ),
    "of a tuple target only what is read later": (
        """
        def f(xs, b):
            for i, (a, b) in xs:
                t = a + b
            return b
        """,
        "2 for: takes b, gives b",
    ),
    "comprehension variables are their own": (
        """
        def f(n, k):
            if n:
                m = [k for k in n]
            else:
                m = {k: v for k, v in n}
            return m, k
        """,
        "2 if: gives m",
    ),
    "a name that a lambda captured is shared, whoever reads it": (
        """
        def f(n):
            x = 0
            g = lambda: x
            if n:
                x = 1
                y = 2
            return g
        """,
        "4 if: shares x",
    ),
    "captured after the block": (
        """
        def f(n):
            x = 0
            while n:
                x = n
                n = n - 1
            def g():
                return x
            return g
        """,
        "3 while: takes n, gives n, shares x",
    ),
    "rebound by an inner function": (
        """
        def f(n):
            c = 0
            def g():
                nonlocal c
                c += 1
            for i in n:
                c = c + i
                g()
            return c
        """,
        "6 for: shares c",
    ),
    "captured by a generator expression": (
        """
        def f(n):
            k = 1
            late = (k + j for j in n)
            if n:
                k = 2
            return late
        """,
        "4 if: shares k",
    ),
    "an inner function's own names are not captured": (
        """
        def f(n, x):
            g = lambda x: x
            if n:
                x = 1
            return g(x)
        """,
        "3 if: takes x, gives x",
    ),
    "what a handler or later code sees of a try is shared": (
        """
        def f(x):
            y = 0
            try:
                t = x[0]
                y = t
                x = 2
            except KeyError as e:
                y = y + 1
            return x
        """,
        "3 try: shares x y",
    ),
    "blocks in a try share its names": (
        """
        def f(x):
            z = 0
            try:
                if x:
                    y = 1
                for i in x:
                    z = i
            except KeyError:
                z = 1
            return z
        """,
        """
        3 try: shares z
        4 if:
        6 for: shares z
        """,
    ),
    "a try in a loop": (
        """
        def f(n):
            while n:
                try:
                    m = n[0]
                except KeyError:
                    m = 0
                n = m
            return n
        """,
        """
        2 while: takes n, gives n
        3 try: shares m, fresh m
        """,
    ),
    "bound on one side only: marked before the block": (
        """
        def f(n):
            if n:
                y = 1
            return y
        """,
        "2 if: takes y, gives y, fresh y",
    ),
    "marked once": (
        """
        def f(n):
            if n:
                y = 1
            if n:
                y = 2
            return y
        """,
        """
        2 if: takes y, gives y, fresh y
        4 if: takes y, gives y
        """,
    ),
    "bound on one side and never read: no mark": (
        """
        def f(n):
            if n:
                y = 1
            return n
        """,
        "2 if:",
    ),
    "bound on both sides: no mark": (
        """
        def f(n):
            if n:
                y = 1
            else:
                y = 2
            return y
        """,
        "2 if: gives y",
    ),
    "first bound in a loop": (
        """
        def f(xs):
            for x in xs:
                y = x
            return x, y
        """,
        "2 for: takes x y, gives x y, fresh x y",
    ),
    "parameters of all kinds are bound": (
        """
        def f(a, /, b, *c, d=1, **e):
            if a:
                a = b = c = d = e = 0
            return a, b, c, d, e
        """,
        "2 if: takes a b c d e, gives a b c d e",
    ),
}

BLOCKS |= {
    "what a with wrote may be read after a failure": (
        """
        def f(m, x):
            y = 0
            with m as n:
                if x:
                    y = n
                    t = y
                y = y + 1
            return y
        """,
        "4 if: shares y",
    ),
    "a name that only the with reads is its own": (
        """
        def f(m, x):
            with m:
                if x:
                    y = 1
                else:
                    y = 2
                x = y
            return x
        """,
        "3 if: gives y",
    ),
    "a with in a loop is part of its body": (
        """
        def f(m, x):
            while x:
                with m as y:
                    x = y
            return x
        """,
        "2 while: takes x, gives x",
    ),
    "a finally reads what the try wrote": (
        """
        def f(x):
            y = 0
            try:
                y = x[0]
                x = x[1]
            finally:
                z = y
            return z
        """,
        "3 try: shares x y z, fresh z",
    ),
    "a block in a try writes through only what is seen outside": (
        """
        def f(x):
            y = z = 0
            try:
                if x:
                    y = 1
                    z = 2
            finally:
                h(y)
            return x
        """,
        """
        3 try: shares y
        4 if: shares y
        """,
    ),
    "a deletion is a write": (
        """
        def f(x):
            y = x
            if x:
                del y
            return y
        """,
        "3 if: takes y, gives y",
    ),
    "a deletion in a loop is seen by the next iteration": (
        """
        def f(xs):
            y = 0
            for x in xs:
                z = y
                if x:
                    del y
            return xs
        """,
        """
        3 for: takes y, gives y
        5 if: takes y, gives y
        """,
    ),
    "what nobody reads after its deletion is no state": (
        """
        def f(xs):
            for x in xs:
                y = x
                del y
            return xs
        """,
        "2 for:",
    ),
    "a test binds for the block": (
        """
        def f(x):
            if (y := x) > 0:
                z = y
            else:
                z = -y
            return z
        """,
        "2 if: gives z",
    ),
    "a test that may not bind": (
        """
        def f(x):
            if x > 0 and (y := x):
                z = y
            else:
                z = 0
            return z
        """,
        "2 if: gives z, fresh y",
    ),
    "a global name is no state": (
        """
        def f(x):
            global count
            while x:
                count = count + x
                x = x - 1
            return count
        """,
        "3 while: takes x, gives x, globals count",
    ),
    "one block of a global, another without": (
        """
        def f(x):
            global count, total
            if x:
                count = 1
            if x:
                total = y = 2
            return y
        """,
        """
        3 if: globals count
        5 if: takes y, gives y, globals total, fresh y
        """,
    ),
    "a class reads at once, its methods later": (
        """
        def f(x):
            y = z = 0
            if x:
                y = 1
                z = 2
            class A:
                k = y
                def g(self):
                    return z
            return A
        """,
        "3 if: takes y, gives y, shares z",
    ),
    "a class is a name like others": (
        """
        def f(x):
            if x:
                class A:
                    pass
            else:
                A = None
            return A
        """,
        "2 if: gives A",
    ),
    "so is a module": (
        """
        def f(x):
            if x:
                import os.path
                from math import pi as p, e
            else:
                os = p = e = None
            return os, p
        """,
        "2 if: gives os p",
    ),
    "a chain is one block": (
        """
        def f(n, x, y):
            if n == 0:
                x = 1
            elif n == 1:
                y = 2
            else:
                y = t = 3
            return x, y
        """,
        "2 switch: takes x y, gives x y",
    ),
    "a chain that binds on every side takes nothing": (
        """
        def f(n, x):
            if n == 0:
                y = x
            elif n == 1:
                y = 2
            else:
                raise ValueError
            return y
        """,
        "2 switch: gives y",
    ),
}


@pytest.mark.parametrize("source, expected", BLOCKS.values(), ids=BLOCKS)
def test_blocks(source: str, expected: str) -> None:
    assert dump(source) == textwrap.dedent(expected).strip()


READS = {
    "after a block that may not bind": (
        """
        def f(n):
            if n:
                y = 1
            return y
        """,
        "4 y",
    ),
    "every read until it is bound": (
        """
        def f(n):
            if n:
                y = 1
            z = y
            y = z + y
            return y
        """,
        "4 y, 5 y",
    ),
    "an augmented assignment reads": (
        """
        def f(n):
            if n:
                y = 1
            y += 1
            return y
        """,
        "4 y",
    ),
    "a loop may not run": (
        """
        def f(xs):
            for x in xs:
                y = x
            return x, y
        """,
        "4 x, 4 y",
    ),
    "inside the loop the target is bound": (
        """
        def f(xs):
            for x in xs:
                y = x
                z = y
            return z
        """,
        "5 z",
    ),
    "the first iteration reads what the last one wrote": (
        """
        def f(xs):
            for x in xs:
                if x:
                    x = y
                y = x
            return xs
        """,
        "4 y",
    ),
    "a side that raises does not count": (
        """
        def f(n):
            if n:
                y = 1
            else:
                raise ValueError
            return y
        """,
        "",
    ),
    "the test of a while": (
        """
        def f(n):
            if n:
                y = 1
            while y:
                y = 0
        """,
        "4 y",
    ),
    "a body that fails may not have bound": (
        """
        def f(x):
            try:
                y = x[0]
            except KeyError:
                x = y
            else:
                x = y
            return x
        """,
        "5 y",
    ),
    "all handlers bind": (
        """
        def f(x):
            try:
                y = x[0]
            except KeyError:
                y = 0
            except IndexError:
                y = 1
            return y
        """,
        "",
    ),
    "Python unbinds the name of a handler": (
        """
        def f(x):
            e = 1
            try:
                x = x[0]
            except KeyError as e:
                x = e
            return e
        """,
        "7 e",
    ),
    "a read in an inner function is free": (
        """
        def f(n):
            if n:
                x = 1
            def g():
                return x
            return g
        """,
        "free 5 x",
    ),
    "the default of an inner function is read here": (
        """
        def f(n):
            if n:
                x = 1
            def g(a=x):
                return a
            return g
        """,
        "4 x",
    ),
    "a generator expression reads its names as free ones": (
        """
        def f(n):
            if n:
                x = 1
            return (x + y for y in n)
        """,
        "free 4 x",
    ),
    "an inner function's own name is not": (
        """
        def f(n):
            if n:
                x = 1
            g = lambda x: x
            return g, x
        """,
        "5 x",
    ),
    "globals are nobody's business": (
        """
        def f(n):
            if n:
                y = G
            else:
                y = H
            return y, G
        """,
        "",
    ),
}

READS |= {
    "after a deletion": (
        """
        def f(x):
            y = x
            del y
            return y
        """,
        "4 y",
    ),
    "after a deletion in a branch": (
        """
        def f(x):
            y = x
            if x:
                del y
            y = y + 1
            return y
        """,
        "5 y",
    ),
    "before the deletion in a loop": (
        """
        def f(xs):
            y = 0
            for x in xs:
                z = y
                del y
            y = 1
            return y
        """,
        "4 y, 5 y",
    ),
    "what is deleted and bound again": (
        """
        def f(x):
            y = x
            del y
            y = 2
            return y
        """,
        "",
    ),
    "what a with may not have reached, where a block asks for it": (
        """
        def f(m, x):
            with m:
                y = x
            if x:
                y = y + 1
            return y
        """,
        "5 y, 6 y",
    ),
    "what a with may not have reached, and Python says so": (
        """
        def f(m, x):
            with m:
                y = x
            return y
        """,
        "",
    ),
    "the name of a with is bound": (
        """
        def f(m, x):
            with m as y:
                if x:
                    x = y
            return x, y
        """,
        "",
    ),
    "in a finally": (
        """
        def f(x):
            try:
                y = x[0]
            finally:
                h(y)
            return y
        """,
        "5 y",
    ),
    "after handlers for groups": (
        """
        def f(x):
            try:
                y = x[0]
            except* ValueError:
                y = 0
            if x:
                y = y + 1
            return y
        """,
        "7 y, 8 y",
    ),
    "what the last operand bound": (
        """
        def f(x):
            if x > 0 and (y := x) > 1:
                x = y
            return y
        """,
        "3 y, 4 y",
    ),
    "what a test of Python's own bound is there": (
        """
        def f(x):
            if x is not None and (y := x) > 1:
                x = y
            return x
        """,
        "",
    ),
    "what the first operand bound": (
        """
        def f(x):
            if (y := x) > 0 and x > 1:
                x = y
            return y
        """,
        "",
    ),
    "of a chain": (
        """
        def f(n):
            if n == 0:
                y = 1
            elif n == 1:
                y = 2
            return y
        """,
        "6 y",
    ),
    "in the body of a class": (
        """
        def f(x):
            if x:
                y = 1
            class A:
                k = y
            return A
        """,
        "5 y, free 5 y",
    ),
}


@pytest.mark.parametrize("source, expected", READS.values(), ids=READS)
def test_reads_that_may_be_unbound(source: str, expected: str) -> None:
    assert reads(source) == expected


def test_the_state_is_in_the_order_of_first_appearance() -> None:
    source = """
        def f(z, a):
            m = b = 0
            while z:
                b = b + m
                m = a
                a = z
                z = b
            return m
        """
    assert dump(source) == "3 while: takes z a m b, gives z a m b"


def test_deep_and_long_sources() -> None:
    """The analysis must not start over at every level: that would never end here."""
    nested = "".join("    " * (n + 1) + f"while x{n}:\n" for n in range(30))
    nested += "    " * 31 + "y = y + 1\n"
    row = "".join(f"    if y:\n        x{n} = y\n" for n in range(300))
    flow, function = flow_of(f"def f(y, {', '.join(f'x{n}' for n in range(30))}):\n{nested}{row}")
    assert len(flow.dump(function).splitlines()) == 330
