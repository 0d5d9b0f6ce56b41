"""Sums and products of names, to see that two bounds of a slice are a known distance apart.

``x[i * w : i * w + 3]`` takes 3 items wherever it starts: `difference` of the bounds is ``3``.
"""

from __future__ import annotations

import gast

#: how often each product of names occurs; the product of no names is the number 1
Polynomial = dict[tuple[str, ...], int]


def difference(lower: gast.expr, upper: gast.expr) -> gast.expr | None:
    """`upper - lower`, where something of both cancels out; None where nothing does."""
    low, high = _polynomial(lower), _polynomial(upper)
    if low is None or high is None:
        return None
    left = _sum(high, low, -1)
    shared = [product for product in low if product and product in high]
    if not shared or any(product in left for product in shared):
        return None
    return _expression(left, lower)


def _polynomial(node: gast.expr) -> Polynomial | None:
    if isinstance(node, gast.Name):
        return {(node.id,): 1}
    if isinstance(node, gast.Constant):
        return {(): node.value} if type(node.value) is int else None
    if not isinstance(node, gast.BinOp):
        return None
    left, right = _polynomial(node.left), _polynomial(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, gast.Add):
        return _sum(left, right, 1)
    if isinstance(node.op, gast.Sub):
        return _sum(left, right, -1)
    if isinstance(node.op, gast.Mult):
        total: Polynomial = {}
        for one, count in left.items():
            for other, times in right.items():
                total = _sum(total, {tuple(sorted(one + other)): count * times}, 1)
        return total
    return None


def _sum(one: Polynomial, other: Polynomial, sign: int) -> Polynomial:
    total = dict(one)
    for product, count in other.items():
        total[product] = total.get(product, 0) + sign * count
    return {product: count for product, count in total.items() if count}


def _expression(polynomial: Polynomial, at: gast.AST) -> gast.expr:
    terms = []
    for product, count in sorted(polynomial.items(), reverse=True):
        factors = [*([str(count)] if count != 1 or not product else []), *product]
        terms.append(" * ".join(factors))
    made = gast.parse(" + ".join(terms) or "0").body[0].value
    for node in gast.walk(made):
        if "lineno" in node._attributes:
            gast.copy_location(node, at)
    return made
