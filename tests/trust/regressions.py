"""Expressions that once came out different, with arguments; the generators have found them.

A static function gives what plain Python gives, or stops with one of the codes behind.
"""

from __future__ import annotations

#: the expression of `a` and `b`, the calls, and the codes with which d2s may stop instead
FOUND: list[tuple[str, tuple[str, ...], str]] = [
    # what d2s calls instead of a builtin takes the same arguments, by the same names
    ("pow(a, exp=2.0)", ("f(3.0)", "f(2)"), ""),
    ("functools.partial(pow, exp=2)(a)", ("f(3.0)",), ""),
    ("sum(iterable=[a])", ("f(3)",), ""),
    ("sorted(iterable=[a])", ("f(3)",), ""),
    ("operator.pow(a=a, b=2)", ("f(3)",), ""),
    ("math.sqrt(a, 2)", ("f(3)",), ""),
    ("pow(a)", ("f(3)",), ""),
    ("next()", ("f(3)",), ""),
    ("min(a, foo=2)", ("f(3)",), ""),
    # a number is no container
    *((form, ("f(3)", "f(2.5)"), "") for form in ("len(a)", "iter(a)", "min(a)", "sum(a)", "a[0]")),
    *((form, ("f(3)", "f(2.5)"), "") for form in ("list(a)", "[*a]", "sorted(a)", "any(a)")),
    *((form, ("f(3)", "f(2.5)"), "") for form in ("0 in a", "''.join(a)", "reversed(a)", "zip(a)")),
    ("[v for v in a]", ("f(3)",), ""),
    ("a[b]", ("f(3, 0)", "f(2.5, 1.5)"), ""),
    ("[a.__setitem__(0, 1)]", ("f([3])",), "D2S024"),
    # formats name the class of what does not fit
    ("'%5d' % a", ("f(jnp.array([3, 1]))", "f(np.array([3, 1]))"), "D2S020"),
    ("'%f' % range(a)", ("f(3)",), "D2S020"),
    # whoever makes a class for its caller finds the caller
    ("__import__('collections').namedtuple('A', 'n').__module__", ("f(3)",), ""),
    ("__import__('enum').Enum('A', 'n').__module__", ("f(3)",), ""),
    # the least integer has no absolute value in 32 bits
    ("math.gcd(a, b)", ("f(-2147483648, 6)", "f(-2147483648, 0)", "f(12, 18)"), ""),
    ("math.lcm(a, b)", ("f(-2147483648, 1)", "f(4, 6)", "f(0, 6)", "f(65536, 65537)"), ""),
    ("np.gcd(a, b)", ("f(np.int32(-2147483648), np.int32(6))",), ""),
    ("np.gcd(a, b)", ("f(0, -2147483648)", "f(12, 18)"), ""),
    ("np.lcm(a, b)", ("f(np.int32(4), np.int32(6))", "f(np.int32(0), np.int32(6))"), ""),
    ("np.array(a, np.int8)", ("f(300)", "f(3)"), ""),
    ("np.full(2, a, np.uint8)", ("f(-1)", "f(3)"), ""),
    ("np.square(a)", ("f(-2147483648)", "f(46341)", "f(46340)"), ""),
    # scalars of NumPy's have attributes that no array of JAX's has
    ("a.numerator", ("f(np.int32(3))",), "D2S020"),
    ("hasattr(a, 'numerator')", ("f(np.int32(3))",), "D2S020"),
    ("math.trunc(a)", ("f(np.float64(1.5))",), "D2S020"),
    ("isinstance(a, numbers.Integral)", ("f(np.int16(1))", "f(jnp.int16(1))", "f(1)"), "D2S020"),
    ("isinstance(a, float)", ("f(np.float64(1.5))", "f(jnp.float32(1.5))"), "D2S020"),
    # some complex numbers have a real part where others are refused
    ("np.uint8(a)", ("f(np.complex64(1 + 2j))",), ""),
    ("np.float32(a)", ("f(1 + 2j)",), ""),
    ("float(a)", ("f(np.complex64(1 + 2j))",), "D2S020"),
    ("math.hypot(2, a)", ("f(np.complex64(1 + 2j))",), "D2S020"),
    ("complex(a, b)", ("f(False, np.complex64(-1.5j))", "f(1.5, 2)"), "D2S020"),
    ("np.any(a)", ("f(np.complex64(-1.5j))", "f(np.array([0j, 0j]))"), ""),
    ("a.all()", ("f(np.array([-1.5j, 1j]))",), ""),
    ("np.power(a, 1 + 2j)", ("f(np.array([0j, 1j]))",), ""),
    ("np.power(a, 0j)", ("f(np.array([0j, 1j]))",), ""),
    ("np.argmax(a)", ("f(np.array([1j, 2, 3]))",), "D2S021"),
    # NumPy compares each element with what is no number
    ("a == None", ("f(np.array([1.0, 2.0]))", "f(jnp.array([1.0, 2.0]))"), ""),
    ("a != 'x'", ("f(np.array([1.0, 2.0]))", "f(jnp.array([1.0, 2.0]))"), ""),
    ("'x' in a", ("f(np.array([1.0, 2.0]))", "f(jnp.array([1.0, 2.0]))"), ""),
    ("None in a", ("f(np.array([1.0, 2.0]))", "f(jnp.array([1.0, 2.0]))"), ""),
    ("[1.0] in a", ("f(np.array([1.0, 2.0]))",), "D2S021"),
    ("a in ['x']", ("f(np.array([1.0, 2.0]))",), "D2S022"),
    ("1.0 in a", ("f(np.float32(2.0))",), "D2S021"),
    ("a == np.array(['x', 'y'])", ("f(2.0)",), "D2S021"),
    # a method that is called by its name
    ("(2.5).__mod__(a)", ("f(2.0)", "f(2)", "f(jnp.int32(2))"), "D2S020"),
    ("a.__add__(b) is NotImplemented", ("f(2, 2.5)", "f(2.5, 2)", "f(2, jnp.int32(2))"), ""),
    ("a.__round__()", ("f(2.5)", "f(float('inf'))", "f(True)"), ""),
    ("round(a, 1)", ("f(np.bool_(True))",), "D2S020"),
    ("a.__round__()", ("f(1j)",), ""),
    ("round(a)", ("f(1j)",), ""),
    ("math.ceil(a)", ("f(1j)", "f(jnp.complex64(1j))"), ""),
    ("math.trunc(a)", ("f(1j)",), ""),
    ("+a", ("f(np.array([True, False]))", "f(jnp.array([True, False]))"), ""),
    ("a.__mod__(b)", ("f(np.uint8(5), jnp.ones(3))",), "D2S020"),
    ("round(a, -1)", ("f(np.int32(25))",), "D2S020"),
    # NumPy's numbers show themselves as such
    ("print([a[0]])", ("f(np.array([1, 2]))", "f(jnp.array([1, 2]))"), "D2S020"),
    ("print(repr(a))", ("f(np.float16(2.0))",), "D2S020"),
    ("print(divmod(a, b))", ("f(np.float16(2.0), np.float16(1.5))",), "D2S020"),
    ("print(str(ValueError('a', a[0])))", ("f(np.array([1, 2]))",), "D2S020"),
    ("print('%s' % ([a[0]],))", ("f(np.array([1, 2]))", "f(jnp.array([1, 2]))"), "D2S020"),
    ("print('%s' % (a[0],))", ("f(np.array([1, 2]))", "f(jnp.array([1, 2]))"), ""),
    # shapes that do not fit are another error in NumPy
    ("a + b", ("f(np.ones(2), np.ones(3))", "f(jnp.ones(2), jnp.ones(3))"), ""),
    ("a @ b", ("f(np.ones(2), np.ones(3))", "f(np.ones(2), jnp.ones(3))"), "D2S021"),
    ("np.ones(2) * a", ("f(np.ones(3))", "f(jnp.ones(3))"), "D2S021"),
    # what is no number has operators of its own
    ("__import__('datetime').timedelta(days=1) // a", ("f(2, np.ones(2))",), "D2S031"),
    # an exception with an empty slot
    ("a if b < 2 else np.sort(a)", ("f(np.float32(2.0), 3)",), ""),
    # what a cache counts is no constant
    ("functools.cache(len).cache_info() and a", ("f(2.0)",), "D2S023"),
    # by position, too
    ("np.nan_to_num(a, False).sum()", ("f(np.array([1.0, np.nan], np.float32))",), "D2S072"),
    ("np.median(a, None, None, True)", ("f(np.array([3.0, 1.0], np.float32))",), "D2S072"),
]
