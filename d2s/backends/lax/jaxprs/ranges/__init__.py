"""One analysis of the integers of a graph: between which numbers they lie, and how they move.

    walk       goes through a graph once, and gives every value a range and a term
    rules      the table: for each primitive, the range and the term of its result
    terms      values as sums of others and choices between them, to see how a trip moves a counter
    induction  loops: a range is guessed from how one trip moves a number, and then proven

In ::

    count = 0
    for i in range(200):            i lies in 0 .. 199
        if x[i] > 0:                one trip moves `count` by 0 or by 1,
            count += 1              so it lies in 0 .. 199 at the head of a trip
    return count * 1000             and in 0 .. 200 behind the loop: the product is 200000 at most

nothing leaves 32 bits, so nothing is checked when the graph runs. Who asks: the checks of Python
integers (`overflow`), rolling, the bounds of loops that have gradients, and, while a graph is being
built, whoever would otherwise check an index or a divisor (`graph.spans`).
"""
