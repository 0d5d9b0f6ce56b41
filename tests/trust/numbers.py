"""Numbers: every operator and function of numbers on a grid of kinds and values.

Where plain Python raises, the static function raises the same. The kinds are Python's four and
all of NumPy's, alone and in arrays; the values have zeros, negatives and limits. Left out is what
docs/differences.md names: integer arrays that are divided by zero follow JAX, and what is computed
of NumPy's 64-bit integers wraps at 32 bits.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from .judge import Program

PYTHON = ("int", "float", "bool", "complex")
WIDTHS = ("8", "16", "32", "64")
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in WIDTHS)
DTYPES = ("bool_", *INTEGERS, "float16", "float32", "float64", "complex64")

VALUES = {
    "int": "0 1 -1 2 3 -7 10 100 2147483647 -2147483648 2147483648 1099511627776".split(),
    "float": "0.0 -0.0 0.5 -0.5 1.5 2.5 -2.25 3.0 -4.0 1e10 float('inf') float('nan')".split(),
    "bool": "True False".split(),
    "complex": "0j 1+2j -1.5j 2+0j".split(),
}
SMALL = {
    "int": "0 1 -1 2 3 5".split(),
    "float": "0.0 0.5 -0.5 1.5 2.0 -1.0".split(),
    "bool": VALUES["bool"],
    "complex": VALUES["complex"],
}
BINARY = (
    "a+b a-b a*b a/b a//b a%b a**b a<<b a>>b a&b a|b a^b a@b a<b a<=b a>b a>=b a==b a!=b "
    "divmod(a,b) pow(a,b) pow(a,b,7) pow(a,b,c) min(a,b) max(a,b) min([a,b]) max(a,b,c) sum([a,b]) "
    "round(a,b) (a,b)>(b,a) [a]==[b] (a)and(b) (a)or(b) (a)if(b)else(c) 1<a<b complex(a,b) "
    "operator.add(a,b) operator.floordiv(a,b) operator.mod(a,b) operator.truediv(a,b) "
    "operator.pow(a,b) operator.lshift(a,b) operator.lt(a,b) operator.iadd(a,b) a.__add__(b) "
    "a.__floordiv__(b) a.__rtruediv__(b) a.__lt__(b) a.__mod__(b) int.__add__(a,b) "
    "np.add(a,b) np.subtract(a,b) np.multiply(a,b) np.divide(a,b) np.floor_divide(a,b) np.mod(a,b) "
    "np.fmod(a,b) np.power(a,b) np.maximum(a,b) np.minimum(a,b) np.hypot(a,b) np.arctan2(a,b) "
    "np.left_shift(a,b) np.bitwise_and(a,b) np.greater(a,b) np.copysign(a,b) np.gcd(a,b) "
    "np.where(a>b,a,b) np.clip(a,0,b) np.divmod(a,b) range(a)[b] isinstance(a,type(b)) "
    "a.__radd__(b) a.__eq__(b) a[b] (a)in[b] [a,b].index(b) (a,1)==(b,1) {'k':a}=={'k':b} "
    "[1,2,3][a] 'abc'[a] (1,2,3)[a:b] list(range(a))[:b] 'ab'*a [0]*a {1:2}.get(a,b) [b,c].count(a)"
).split(" ")
UNARY = (
    "-a +a ~a abs(a) round(a) round(a,1) round(a,-1) int(a) float(a) bool(a) complex(a) not(a) "
    "str(a) repr(a) a.real a.imag a.conjugate() a.bit_length() a.is_integer() "
    "a.as_integer_ratio() a.numerator type(a).__name__ isinstance(a,int) isinstance(a,float) "
    "isinstance(a,(bool,complex)) isinstance(a,numbers.Number) isinstance(a,numbers.Integral) "
    "isinstance(a,np.generic) isinstance(a,np.ndarray) np.asarray(a).dtype.kind bin(a) hex(a) "
    "chr(a) "
    "format(a) a.__index__() a.__int__() a.__float__() a.__bool__() a.__abs__() a.__neg__() "
    "a.__round__() a.__trunc__() a.__floor__() len(range(a)) sum(range(a)) list(range(a)) "
    "operator.index(a) "
    "np.sqrt(a) np.abs(a) np.sign(a) np.floor(a) np.rint(a) np.square(a) np.negative(a) np.exp(a) "
    "np.log(a) np.isnan(a) np.isfinite(a) np.sum(a) np.prod(a) np.cumsum(a) np.mean(a) np.round(a) "
    "np.max(a) np.argmax(a) np.sort(a) np.any(a) np.invert(a) np.reciprocal(a) np.trunc(a) "
    "np.int8(a) np.uint8(a) np.int16(a) np.uint32(a) np.float16(a) np.int64(a) np.bool_(a) "
    "np.array(a,np.int8) np.asarray(a,np.uint8) np.full(2,a) np.full(2,a,np.int8) np.std(a) "
    "np.array([a,1]) np.zeros(2)+a np.ones(2,np.int8)*a np.uint8(200)+a np.int32(7)-a "
    "len(a) tuple(iter(a)) a[0] a[-1] min(a) sum(a) sorted(a) list(a) [*a] (0)in(a) any(a) a==None "
    "a!=None a=='x' 'x'in(a) (a)in['x'] hasattr(a,'numerator') hasattr(a,'__len__') pow(a,exp=2) "
    "np.float32(0.5)*a np.arange(3)+a jnp.zeros(2)+a jnp.int32(3)*a jnp.float32(2)**a"
).split(" ")
MATH = [
    name
    for name in sorted(vars(math))
    if callable(getattr(math, name))
    and not name.startswith("_")
    and name not in ("fsum", "prod", "dist", "sumprod")
]
MATH_TWO = frozenset(
    "atan2 comb copysign fmod gcd hypot lcm ldexp log nextafter perm pow remainder isclose".split()
)
#: forms whose right side, or only one, must stay small, or the answer has no end, or 32 bits are
#: too few for it
STEEP = (
    "sin",
    "cos",
    "tan",
    "**",
    "<<",
    "pow",
    "shift",
    "factorial",
    "comb",
    "perm",
    "ldexp",
    "range",
    "*a",
)
DIVISIONS = ("//", "%", "mod", "divide", "gcd", "np.reciprocal")
FORMS = (
    "def f(a, b, c):\n    return {form}\n",
    "def f(a, b, c):\n    try:\n        return {form}\n"
    "    except (ArithmeticError, TypeError, ValueError, LookupError) as error:\n"
    "        return type(error).__name__, str(error)\n",
    "def f(a, b, c):\n    if c > 1:\n        return {form}\n    return {form}\n",
    "def f(a, b, c):\n    r = None\n    try:\n        r = {form}\n    except Exception:\n"
    "        pass\n    return r\n",
    "def f(a, b, c):\n    r = []\n    for c in range(3):\n        r.append({form})\n    return r\n",
    "def f(a, b, c):\n    def g(a, b):\n        return {form}\n    return g(a, b), g(b, a)\n",
    "def f(a, b, c):\n    print({form})\n",
    "def f(a, b, c):\n    a {augment}= b\n    return a\n",
)
AUGMENTS = "+ - * / // % ** << >> & | ^".split()
HEAD = "import cmath, math, numbers, operator\nimport numpy as np\nimport jax.numpy as jnp\n\n\n"


def programs(rng: random.Random) -> Iterator[Program]:
    """Each form of an operation in turn, on kinds of chance, again and again."""
    every = [*BINARY, *UNARY, *UNARY_MATH, *BINARY_MATH]
    while True:
        rng.shuffle(every)
        for form in every:
            yield _program(rng, form)


UNARY_MATH = [f"math.{name}(a)" for name in MATH if name not in MATH_TWO - {"log", "gcd", "lcm"}]
BINARY_MATH = [f"math.{name}(a,b)" for name in MATH if name in MATH_TWO]


def _program(rng: random.Random, form: str) -> Program:
    shape = rng.choice(FORMS[:-1] * 3 + FORMS[-1:] if form in BINARY else FORMS[:-1])
    augment = rng.choice(AUGMENTS)
    steep = any(word in form for word in STEEP) or ("augment" in shape and augment in STEEP)
    divides = any(word in form for word in DIVISIONS) or augment in DIVISIONS
    kinds = [_kind(rng), _kind(rng)]
    if rng.random() < 0.4:
        kinds[1] = kinds[0]
    # an array is one of JAX's inside, and says so; positions out of range follow JAX
    if any(word in form for word in ("type(", "__round__", "a[b]")):
        kinds = [rng.choice(PYTHON), rng.choice(PYTHON)]
    # an integer that meets a float is one of 32 bits, whose remainder is another one
    steep = steep or (divides and len({_is_inexact(kind) for kind in kinds}) == 2)
    fixed = rng.choice([None, None, None, "a", "b"])
    arrays = any(kind not in PYTHON for kind in kinds) or "np." in form
    both = "reciprocal" in form or (divides and "g(b, a)" in shape)
    body = shape.format(form=form, augment=augment)
    rows = [
        [
            _value(rng, kind, steep, n == 1 and divides or both, arrays)
            for n, kind in enumerate(kinds)
        ]
        for _ in range(rng.choice([3, 5]))
    ]
    if fixed == "a":
        body = body.replace("(a, b, c):\n", f"(b, c):\n    a = {rows[0][0]}\n", 1)
    if fixed == "b":
        body = body.replace("(a, b, c):\n", f"(a, c):\n    b = {rows[0][1]}\n", 1)
    drop = {"a": 0, "b": 1}.get(fixed or "", 2)
    steps = []
    for number, row in enumerate(rows):
        kept = [text for n, text in enumerate(row) if n != drop]
        steps.append(f"f({', '.join([*kept, str(number % 3)])})")
    about = f"{augment}=" if "augment" in shape else form
    if arrays:
        body = body.replace(", str(error)", "")
    joins = any(word in form for word in ("and(", "or(", "if(", "min", "max", "where", "clip"))
    # NumPy adds integers up with 64 bits
    widens = any(word in form for word in ("np.sum", "np.cumsum", "np.prod"))
    integers = [kind for kind in kinds if "int" in kind and kind != "int"]
    # and signed ones beside unsigned ones of 32 bits are of 64
    widens = widens or {"uint" in kind for kind in integers} == {True, False}
    wide = any(widens or kind.endswith("int64") for kind in integers)
    return Program(about, HEAD + body, tuple(steps), True, joins, arrays, wide)


def _is_inexact(kind: str) -> bool:
    return "float" in kind or "complex" in kind


_ZEROS = ("0", "False", "0.0", "-0.0", "0j")


def _kind(rng: random.Random) -> str:
    """A kind: of Python's, or of NumPy's or JAX's with the word for a scalar or an array."""
    if rng.random() < 0.55:
        return rng.choice(PYTHON[:3] * 3 + PYTHON[3:])
    dtype = rng.choice(DTYPES)
    form = rng.choice(["np scalar", "np array", "np array", "jnp array"])
    if form.startswith("jnp") and dtype.endswith("64") and dtype != "complex64":
        dtype = "float32"
    return f"{form} {dtype}"


def _value(rng: random.Random, kind: str, steep: bool, divisor: bool, arrays: bool) -> str:
    if kind in PYTHON:
        some = (SMALL if steep else VALUES)[kind]
        if divisor and arrays:
            some = [value for value in some if value not in _ZEROS]
        return rng.choice(some)
    library, form, dtype = kind.split()
    items = [_item(rng, dtype, steep, divisor) for _ in range(3)]
    if form == "scalar":
        return f"np.{dtype}({items[0]})"
    return f"{library}.array([{', '.join(items)}], {library}.{dtype})"


def _item(rng: random.Random, dtype: str, steep: bool, divisor: bool) -> str:
    """A value that fits a dtype of NumPy's."""
    if dtype == "bool_":
        return "True" if divisor else rng.choice(VALUES["bool"])
    if dtype.startswith("complex"):
        return rng.choice(VALUES["complex"][1:] if divisor else VALUES["complex"])
    if dtype.startswith("float"):
        return rng.choice(["0.5", "-2.25", "3.0", "1.5", *([] if divisor else ["0.0", "-0.5"])])
    signed, bits = dtype.startswith("int"), int(dtype.removeprefix("u").removeprefix("int"))
    top = 2 ** (bits - signed) - 1
    some = [1, 2, 3, 5, *([] if divisor else [0]), *([-1, -7] if signed else [])]
    if not steep:
        some += [min(top, 100), top, *([-top - 1] if signed else [])]
        some += [2**31 - 1, 2**33] if bits == 64 else []
    return str(rng.choice([v for v in some if v >= 0] if steep else some))
