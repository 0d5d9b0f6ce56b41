# case: an item of a local name

def f(x, i, v):
    x[i] = v
    x[-1] = v + 1
    return x

# output

def f(x, i, v):
    x = d2s.at(x)[i].set(v)
    x = d2s.at(x)[-1].set(v + 1)
    return x


# case: every kind of subscript

def f(x, i, m, v):
    x[i:, ::2, ..., None] = v
    x[[0, 1], m] = v

# output

def f(x, i, m, v):
    x = d2s.at(x)[i:, ::2, ..., None].set(v)
    x = d2s.at(x)[[0, 1], m].set(v)


# case: every augmented form

def f(x, v):
    x[0] += v
    x[0] -= v
    x[0] *= v
    x[0] /= v
    x[0] //= v
    x[0] %= v
    x[0] **= v
    x[0] @= v
    x[0] &= v
    x[0] |= v
    x[0] ^= v
    x[0] <<= v
    x[0] >>= v

# output

def f(x, v):
    x = d2s.at(x)[0].add(v)
    x = d2s.at(x)[0].sub(v)
    x = d2s.at(x)[0].mul(v)
    x = d2s.at(x)[0].truediv(v)
    x = d2s.at(x)[0].floordiv(v)
    x = d2s.at(x)[0].mod(v)
    x = d2s.at(x)[0].pow(v)
    x = d2s.at(x)[0].matmul(v)
    x = d2s.at(x)[0].and_(v)
    x = d2s.at(x)[0].or_(v)
    x = d2s.at(x)[0].xor(v)
    x = d2s.at(x)[0].lshift(v)
    x = d2s.at(x)[0].rshift(v)


# case: entries with a text as key stay

def f(d, o, v):
    d['k'] = v
    d['k'] += v
    o.d['a']['b'] = v


# case: attributes stay

def f(o, v):
    o.a = v
    o.a += v


# case: paths from objects, dicts and calls store what is new

def f(o, d, g, i, j, v):
    o.w[i] = v
    o.p.w[i][j] += v
    o.d['k'][i] = v
    d['k'][i] = v
    o[i].w[j] = v
    g(o)[i] = v

# output

def f(o, d, g, i, j, v):
    d2s.ref(o).w[i] = v
    d2s.ref(o.p).w[i][j] += v
    d2s.ref(o.d)['k'][i] = v
    d2s.ref(d)['k'][i] = v
    d2s.ref(d2s.items(o)[i]).w[j] = v
    d2s.ref(d2s.fn(g)(o))[i] = v


# case: items of items of a name

def f(x, i, j, v):
    x[i][j] = v
    x[i][j][0] += v

# output

def f(x, i, j, v):
    x = d2s.at(x)[i][j].set(v)
    x = d2s.at(x)[i][j][0].add(v)


# case: the value comes first where the order can be told

def f(x, g, i):
    x[i + 1] = g(i)
    x[g(i)] = i
    x[g(i)] = g(x)
    x[i] = (i := 2)

# output

def f(x, g, i):
    x = d2s.at(x)[i + 1].set(d2s.fn(g)(i))
    x = d2s.at(x)[d2s.fn(g)(i)].set(i)
    value_4 = d2s.fn(g)(x)
    x = d2s.at(x)[d2s.fn(g)(i)].set(value_4)
    value_5 = (i := 2)
    x = d2s.at(x)[i].set(value_5)


# case: several targets

def f(x, y, i, j, v):
    x[i], x[j] = x[j], x[i]
    a, x[a], b = v
    a = x[0] = y[1] = v
    x[0] = y[1] = v
    x[i]: int = v

# output

def f(x, y, i, j, v):
    item_2, item_2a = (d2s.items(x)[j], d2s.items(x)[i])
    x = d2s.at(x)[i].set(item_2)
    x = d2s.at(x)[j].set(item_2a)
    a, item_3, item_3a = v
    x = d2s.at(x)[a].set(item_3)
    b = item_3a
    a = v
    x = d2s.at(x)[0].set(a)
    y = d2s.at(y)[1].set(a)
    value_5 = v
    x = d2s.at(x)[0].set(value_5)
    y = d2s.at(y)[1].set(value_5)
    x = d2s.at(x)[i].set(v)


# case: targets of loops and managers

def f(x, xs, m):
    for x[0] in xs:
        m(x)
    with m as x[1]:
        m(x)

# output

def f(x, xs, m):
    def body_2a(item_2, x):
        x = d2s.at(x)[0].set(item_2)
        d2s.fn(m)(x)
        return x
    x = d2s.for_loop(xs, body_2a, x)
    with d2s.manager(m) as item_4:
        x = d2s.at(x)[1].set(item_4)
        d2s.fn(m)(x)


# case: in blocks the name is state

def f(x, i):
    if i > 0:
        x[i] = 1
    return x

# output

def f(x, i):
    def then_2(x):
        return d2s.at(x)[i].set(1)
    def else_2(x):
        return x
    x = d2s.cond(i > 0, then_2, else_2, x)
    return x


# case: a name of the function around

def f(x, v):
    def put(i):
        """Write."""
        x[i] = v
    put(0)
    return x

# output

def f(x, v):
    def put(i):
        """Write."""
        nonlocal x
        x = d2s.at(x)[i].set(v)
    d2s.fn(put)(0)
    return x


# case: names of the module

def f(i, v):
    global table
    table[i] = v
    other[i] = v

# output

def f(i, v):
    global table
    table = d2s.at(table)[i].set(v)
    d2s.ref(other)[i] = v


# case: names that may be a part of an array are changed in place

def f(x, v):
    n = 0
    row = x[2:]
    row += v
    n += 1
    x[0] = n
    return row

# output

def f(x, v):
    n = 0
    row = x[2:]
    row = d2s.at(row).add(v)
    n += 1
    x = d2s.at(x)[0].set(n)
    return row


# case: reads at positions that are not in the text

def f(x, i, j):
    return x[i], x[i, 0], x[i][j], x[i:], x[0][i]

# output

def f(x, i, j):
    return (d2s.items(x)[i], d2s.items(x)[i, 0], d2s.items(d2s.items(x)[i])[j], d2s.items(x)[i:], d2s.items(x[0])[i])


# case: reads at positions in the text

def f(x, d):
    return x[0], x[-1], x[1:3, ..., None], d['k'], x[::-1]


# case: slices whose bounds are a known distance apart

def f(x, i, k):
    a = x[i:i + k]
    b = x[i - k:i, 0]
    c = x[2 * i:2 * i + 4]
    d = x[i * k:(i + 1) * k]
    return x[i:k], x[i:i], x[:i + k]

# output

def f(x, i, k):
    a = d2s.items(x)[d2s.window(i, i + k, k)]
    b = d2s.items(x)[d2s.window(i - k, i, k), 0]
    c = d2s.items(x)[d2s.window(2 * i, 2 * i + 4, 4)]
    d = d2s.items(x)[d2s.window(i * k, (i + 1) * k, k)]
    return (d2s.items(x)[i:k], d2s.items(x)[d2s.window(i, i, 0)], d2s.items(x)[:i + k])


# case: annotations and what belongs to arrays stay

def f(x: dict[str, int], i, v) -> list[int]:
    y: tuple[int, ...] = x.at[i].set(v)
    return y
