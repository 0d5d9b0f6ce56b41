import d2s


class Refused(ValueError): pass


@d2s.to_static
def checked(x, limit):
    try:
        if x > limit:  # too much
            raise Refused(f"{x} > {limit}")
        for i in range(limit):
            if i == x:
                return i
    except (Refused,
            TypeError) as error:  # either
        return -1 if limit > 0 else str(error)
    assert 0 <= x < limit, 'a "quoted" text'
    return {**{}, "k": [x ** -1, *range(2)]}, (lambda *a, k=1: a or k)


@d2s.to_static
def simple(a, /, b, *c, d=2, **e): return a   # kept as it is
# output
import d2s


class Refused(ValueError): pass


@d2s.to_static
@d2s.generated
def checked(x, limit):
    returned = False
    result = d2s.unbound()
    def try_2():
        def then_3():  # too much
            raise d2s.fn(Refused)(d2s.text(f'{d2s.quoted(x)} > {d2s.quoted(limit)}'))
        def else_3():
            pass
        d2s.cond(x > limit, then_3, else_3)
        def test_5():
            return d2s.not_(returned)
        def body_5(i):
            nonlocal returned
            def then_6(returned):
                nonlocal result
                result = i
                return True
            def else_6(returned):
                return returned
            returned = d2s.cond(i == x, then_6, else_6, returned)
        d2s.for_loop(d2s.fn(range)(limit), body_5, test=test_5)
    def except_8(error):  # either
        nonlocal result, returned
        result = d2s.cond(limit > 0, lambda: -1, lambda: d2s.fn(str)(error))
        returned = True
    d2s.try_except(try_2, ((Refused, TypeError), except_8))
    def then_2():
        return result
    def else_2():
        d2s.assert_(d2s.compare(0, '<=', x, '<', lambda: limit), lambda: 'a "quoted" text')
        return {**{}, 'k': [d2s.power(x, -1), *d2s.fn(range)(2)]}, lambda *a, k=1: d2s.or_(a,
            lambda: k)
    return d2s.cond(returned, then_2, else_2)


@d2s.to_static
@d2s.generated
def simple(a, /, b, *c, d=2, **e): return a   # kept as it is
