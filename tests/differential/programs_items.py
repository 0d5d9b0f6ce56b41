"""Programs that write items, and read them at run-time positions.

Jax arrays cannot be written eagerly, so plain is the same program with NumPy in the place of
`jax.numpy`, with the dtypes of jax.
"""

import functools
import types

import jax
import jax.numpy as jnp
import numpy as np

from . import codes
from .harness import case


class _Numpy:
    """NumPy whose new arrays have the dtypes that jax would give them."""

    def __getattr__(self, name):
        found = getattr(np, name)
        if name not in ("array", "zeros", "ones", "full", "arange", "asarray", "eye", "stack"):
            return found
        return functools.wraps(found)(lambda *args, **kwargs: _narrow(found(*args, **kwargs)))


def _narrow(array):
    return array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))


def _plain(fn):
    """The function with NumPy arrays."""
    space = {**fn.__globals__, "jnp": _Numpy()}
    twin = types.FunctionType(fn.__code__, space, fn.__name__, fn.__defaults__, fn.__closure__)

    def numpy(value):
        return np.array(value)[()] if isinstance(value, jax.Array) else value

    def call(*args):
        return twin(*jax.tree.map(numpy, args))

    return call


def written(*inputs, modes=("converted", "static"), **options):
    def register(fn):
        # the reference backend leaves arrays to jax, which does not write them
        return case(*inputs, oracle=_plain(fn), modes=modes, **options)(fn)

    return register


ROW = jnp.arange(5.0)
GRID = jnp.arange(12.0).reshape(3, 4)
WHOLE = jnp.arange(6)

# -- single items ---------------------------------------------------------------------------------


@written((ROW, 1, 7.0), (ROW, 4, -2.0), (ROW, -1, 0.5))
def one_item(x, i, v):
    x[i] = v
    return x


@written((ROW, 3.0), (ROW, -1.0))
def items_at_static_positions(x, v):
    x[0] = v
    x[-1] = v + x[0]
    x[2] = 9
    return x


@written((GRID, 1, 2, 7.0), (GRID, -1, 0, 1.0))
def one_item_of_a_grid(x, i, j, v):
    x[i, j] = v
    x[i][j] += v
    x[i][1:3] = 0.25
    return x


@written((WHOLE, 2, 1.75), (WHOLE, 5, -1.75))
def a_float_in_an_integer_array_is_cut(x, i, v):
    x[i] = v
    x[0] += 0.5
    return x


@written((WHOLE, 2.0), (WHOLE, -0.5))
def a_float_added_to_integers_is_refused(x, v):
    x[1:3] += v
    return x


@written((ROW, 1.0), (ROW, 2.0))
def a_static_position_out_of_range(x, v):
    x[7] = v
    return x


@written((ROW, 1.0), (ROW, 2.0))
def too_many_positions(x, v):
    x[0, 1] = v
    return x


@written((ROW, 1.0), (ROW, 2.0))
def values_that_do_not_fit(x, v):
    x[1:3] = jnp.array([v, v, v])
    return x


@written((ROW, 1.0), (ROW, 2.0))
def more_values_than_added_to(x, v):
    x[1:3] += jnp.array([v, v, v])
    return x


@written((ROW, 1.0), (ROW, 2.0))
def a_row_of_one_row(x, v):
    x[:] = jnp.full((1, 5), v)
    return x


# -- slices and other subscripts ------------------------------------------------------------------


@written((ROW, 1.0), (ROW, 2.0))
def all_kinds_of_slices(x, v):
    x[1:3] = v
    x[::2] += v
    x[3:] *= 2
    x[:2] -= 1
    x[4:0:-2] = v * 3
    x[:] += 0.5
    x[...] -= v
    x[-2:] = jnp.array([v, 8.0])
    return x


@written((GRID, 1.0), (GRID, 2.0))
def tuples_ellipsis_and_none(x, v):
    x[:, 2] = v
    x[1, ...] += v
    x[..., 0] *= 2
    x[0, None] = v - 1
    x[1:, ::2] = jnp.ones((2, 2)) * v
    x[2:3, 1] -= v
    return x


@written((GRID, 1.0), (GRID, 2.0))
def lists_and_arrays_of_positions(x, v):
    x[[0, 2]] = v
    x[[0, 1], [1, 2]] += v
    x[jnp.array([2, 2]), 3] = v * 2
    x[[1, 1]] += 1
    x[[]] = 5.0
    return x


@written((GRID, 1), (GRID, -2))
def run_time_arrays_of_positions(x, i):
    at = jnp.array([i, 0])
    x[at] = 7.0
    x[at, 1] += 2
    return x


@written((ROW, 2.5), (ROW, -1.0), (ROW, 9.0))
def run_time_masks(x, v):
    x[x > v] = v
    x[x < 1] += 10
    x[(x == v) | (x > 100)] *= 2
    return x


@written((GRID, 2.5), (GRID, 20.0))
def masks_of_rows(x, v):
    keep = x.sum(1) > v
    x[keep] = jnp.array([1.0, 2.0, 3.0, 4.0])
    x[x > 3.5] = 0
    return x


@written((ROW, 2.5), (ROW, -1.0), error_ok=codes.TRUTH)
def as_many_values_as_a_mask_selects(x, v):
    x[x > v] = x[x > v] * 2
    return x


@written((ROW, 1.0), (ROW, 2.0))
def static_masks(x, v):
    mask = np.array([True, False, True, False, False])
    x[mask] = v
    x[~mask] += jnp.array([1.0, 2.0, 3.0])
    return x


@written((WHOLE, 3), (WHOLE, 2))
def every_augmented_form(x, v):
    y = x * 1.5
    x[0] += v
    x[1] -= v
    x[2] *= v
    x[3] //= v
    x[4] %= v
    x[5] **= 2
    x[1:3] &= v
    x[1:3] |= 8
    x[3:] ^= v
    x[0] <<= 1
    x[::2] >>= 1
    y[1:] /= v
    y[2] **= 2
    return x, y


@written((2.0,), (3.0,))
def matrix_product_in_place(v):
    a = jnp.ones((2, 2, 2)) * v
    a[0] @= jnp.eye(2) * v
    return a


# -- order of evaluation --------------------------------------------------------------------------


@written((ROW, 1), (ROW, 3))
def every_part_once_and_in_order(x, i):
    log = []

    def note(name, value):
        log.append(name)
        return value

    x[note("index", i)] = note("value", 2.0)
    x[note("a", 0)] += note("b", 3.0)
    table, rows = {"k": jnp.zeros(3)}, [jnp.zeros(3)]
    note("base", table)["k"][note("c", 1)] = note("d", 4.0)
    note("e", rows)[note("f", 0)][note("g", 2)] -= note("h", 1.0)
    return log, x, table, rows


@case((1,), (2,))
def the_old_item_is_read_before_the_value(n):
    items = [n, 5]

    def change():
        items[0] = 100
        return 1

    items[0] += change()
    return items


@case((1,), (2,))
def the_value_may_rebind_what_is_written(n):
    items, i = [n, 5], 0
    first = items

    def change():
        nonlocal items, i
        items, i = [7, 8], 1
        return 3

    items[i] = change()
    return first, items


@written((ROW, 1, 3), (ROW, -1, 0))
def swapped(x, i, j):
    x[i], x[j] = x[j], x[i]
    return x


@written((ROW, 1), (ROW, 3))
def several_targets(x, i):
    x[0], (b, x[i]) = 4.0, (2.0, 6.0)
    a, *x[1:3] = 1.0, 2.0, 3.0
    i, x[i] = 2, 9.0
    return x, a, b, i


@written((ROW, 1, 2.0), (ROW, 3, 4.0))
def chained_and_annotated(x, i, v):
    a = x[0] = b = v + 1
    x[1] = x[2] = x[0] * 2
    x[i]: float = v
    return x, a, b


@written((ROW, 2), (ROW, 4))
def targets_of_loops(x, n):
    for x[0] in range(4):
        x[1] += x[0]
    for x[n], b in [(1.0, 2.0), (3.0, 4.0)]:
        x[2] += b
    return x


# -- blocks ---------------------------------------------------------------------------------------


@written((ROW, 1.0), (ROW, -1.0))
def in_a_branch(x, v):
    if v > 0:
        x[0] = v
    else:
        x[1:3] = -v
        if v < -5:
            x[4] = 100
    return x


@written((ROW, 4), (ROW, 0), (ROW, 2))
def in_a_loop(x, n):
    for i in range(n):
        x[i] = x[i] * 2 + i
        if x[i] > 4:
            x[i + 1] = 0
    return x


@written((ROW, 2.0), (ROW, 100.0))
def in_a_while(x, limit):
    i = 0
    while x[i] < limit and i < 4:
        x[i + 1] += x[i] + 1
        i += 1
    return x, i


@written((GRID, 1.0), (GRID, 2.0))
def rows_written_in_static_loops(x, v):
    for i in range(3):
        for j in range(4):
            if x[i, j] > 5:
                x[i, j] = v
    return x


@written((ROW, 3), (ROW, 0))
def fill_with_early_end(x, n):
    for i in range(5):
        if i == n:
            break
        x[i] = -1.0
    return x


@written((ROW, 1.0), (ROW, -1.0))
def before_an_exception(x, v):
    try:
        x[0] = 5.0
        if v < 0:
            raise ValueError("negative")
        x[1] = 6.0
    except ValueError:
        x[2] = 7.0
    return x


@written((ROW, 1.0), (ROW, -1.0))
def in_an_inner_function(x, v):
    def put(i, value):
        x[i] = value
        return i

    put(0, v)
    if v > 0:
        put(1, 2 * v)
    return x


@written((ROW, 1.0), (ROW, -1.0))
def returned_from_a_function(x, v):
    def put(a, value):
        a = a + 0
        a[0] = value
        return a

    return put(x, v) + x


# -- containers -----------------------------------------------------------------------------------


class Cell:
    def __init__(self, **values):
        self.__dict__.update(values)


class Fixed:
    """An attribute that cannot be set."""

    def __init__(self, items):
        self._items = items

    @property
    def items(self):
        return self._items


@written((1.0, 1), (2.0, 2))
def arrays_in_objects_lists_and_dicts(v, i):
    o = Cell(w=jnp.zeros(3), d={"k": [jnp.zeros(2), jnp.ones((2, 3))]})
    o.w[i] = v
    o.w[0] += 1
    o.d["k"][1][0][i] += v
    o.d["k"][0][:] = v
    both = [o.w, jnp.zeros(1)]
    both[1][0] = v
    return o.d, both


@written((1.0,), (2.0,))
def nothing_is_stored_in_a_property(v):
    o = Fixed([1.0, 2.0])
    o.items[0] = v
    o.items[1] += v
    return o.items


@case((1.0, 2), (-1.0, 0), keep=(1,))
def lists_and_dicts_stay_the_same_objects(x, n):
    items, table = [0, 1, 2], {1: x}
    also, other = items, table
    items[n] = 7
    items[1:2] = [8, 9]
    table[n] = 3
    table[1] += 1
    return also, other, items is also, table is other


@case((1.0,), (-1.0,))
def lists_in_a_branch_stay_the_same_objects(x):
    items = [x, 1.0]
    also = items
    if x > 0:
        items[0] = x * 3
    else:
        items[-1] = 7.0
    items[1] += 1
    return also, items is also


@case((3,), (0,))
def lists_in_a_loop_stay_the_same_objects(n):
    items = [0.0, 1.0]
    also = items
    for i in range(n):
        items[0] = items[0] + i
        items[1] *= 2
    items[0] += 1
    return also, items is also


@case((1, 5.0), (-1, 6.0))
def written_in_a_list_at_a_run_time_position(i, v):
    items = [1.0, 2.0, 3.0]
    also = items
    items[i] = v
    items[i] += 1
    return items, also


@case((1,), (-3,), (3,), (-4,))
def read_from_a_list_at_a_run_time_position(i):
    return [10, 20, 30][i], (1.5, 2, 3)[i] if i < 0 else 0.0


@case((1,), (0,), (2,))
def arrays_of_a_list_at_a_run_time_position(i):
    rows = [jnp.ones(3), jnp.zeros(3), jnp.arange(3.0)]
    pairs = [{"a": 1.0, "b": jnp.zeros(2)}, {"a": 2.0, "b": jnp.ones(2)}]
    return rows[i], pairs[i - 1]


@case((3,), (-4,))
def outside_of_a_list_is_caught(i):
    try:
        v = [1.0, 2.0, 3.0][i]
    except IndexError:
        v = -1.0
    return v


@case((1,), (2,))
def deleted_items(n):
    items, table, o = [1, 2, 3, 4], {1: n, 2: n}, Cell(a=1, b=2)
    del items[0], table[1], o.a
    del items[1:]
    return items, table, vars(o)


# -- NumPy arrays ---------------------------------------------------------------------------------


@case((5.0,), (6.0,))
def numpy_array_with_run_time_items(x):
    a = np.zeros(3, np.float32)
    a[0] = x
    a[1:] += x
    return a


@case((5.0, 3), (6.0, 2))
def numpy_array_filled_in_loops(x, n):
    a = np.zeros(3, np.float32)
    b = np.ones((2, 3), np.float32)
    for i in range(3):
        a[i] = x * i
    for i in range(n):
        b[1, i] = x
    if x > 5:
        a[0] = -1
    return a, b


@case((5.0,), (6.0,))
def numpy_arrays_of_static_items(x):
    a = np.zeros(3)
    b = a
    a[0] = 1
    a[1:] += 2
    return b.sum() * x


@case((5.0,), (6.0,), error_ok=codes.WRITTEN)
def numpy_array_with_two_names(x):
    a = np.zeros(3)
    b = a
    a[0] = x
    return b


@case((5.0,), (6.0,), error_ok=codes.WRITTEN)
def numpy_array_with_a_view(x):
    a = np.zeros(3)
    row = a[1:]
    a[1] = x
    return row


@case((5.0,), (6.0,), error_ok=codes.WRITTEN)
def view_of_a_numpy_array(x):
    a = np.zeros(3)
    row = a[1:]
    row[0] = x
    return a


@case((5.0,), (6.0,), error_ok=(*codes.WRITTEN, *codes.TRUTH))
def numpy_view_added_to(x):
    a = np.zeros(3)
    row = a[1:]
    row += x
    return a


@case((5.0,), (6.0,), error_ok=codes.WRITTEN)
def numpy_array_filled_by_another_function(x):
    def fill(v):
        v[1] = x

    a = np.zeros(3)
    fill(a)
    return a


@case((5.0,), (6.0,), error_ok=codes.WRITTEN)
def numpy_array_in_a_list(x):
    a = np.zeros(3)
    items = [a]
    items[0][1] = x
    return a


@case((5.0, 2), (6.0, 1), error_ok=codes.WRITTEN)
def numpy_array_with_two_names_in_a_loop(x, n):
    a = np.zeros(3)
    b = a
    for i in range(n):
        a[i] = x
    return b


# -- aliases of jax arrays ------------------------------------------------------------------------


ALIASED = {"error_ok": codes.WRITTEN, "error_modes": ("converted", "static")}
VIEWED = {"error_ok": codes.WRITTEN, "modes": ("static",)}  # outside of a graph views are not known


@written((ROW, 1.0), (ROW, 2.0), **ALIASED)
def two_names(x, v):
    y = x
    x[0] = v
    return y


@written((ROW, 1.0), (ROW, 2.0), **ALIASED)
def two_names_in_a_branch(x, v):
    y = x
    if v > 1:
        x[0] = v
    return y + x


@written((ROW, 3), (ROW, 2), **ALIASED)
def two_names_in_a_loop(x, n):
    y = x
    for i in range(n):
        x[i + 1] = y[i] + 1
    return x


@written((ROW, 3), (ROW, 2), **ALIASED)
def rows_of_an_array_that_is_written(x, n):
    total = 0.0
    for v in x:
        x[n] = 10.0
        total += v
    return total


@written((ROW, 1.0), (ROW, 2.0), **ALIASED)
def array_of_a_caller(x, v):
    def fill(a):
        a[1] = v

    fill(x)
    return x


@written((ROW, 1.0), (ROW, 2.0), **ALIASED)
def array_of_a_list(x, v):
    items = [x]
    x[0] = v
    return items


@written((ROW, 1.0), (ROW, 2.0), **VIEWED)
def view_of_an_array(x, v):
    row = x[2:]
    row[0] = v
    return x


@written((ROW, 1.0), (ROW, 2.0), **VIEWED)
def array_with_a_view(x, v):
    row = x[2:]
    x[2] = v
    return row


@written((ROW, 1.0), (ROW, 2.0), **VIEWED)
def view_added_to(x, v):
    x[0] = v
    row = x[2:]
    row += v
    return x


@written((ROW, 1.0), (ROW, 2.0))
def copies_are_apart(x, v):
    y = x.copy()
    x[0] = v
    y[1] = v
    return x, y


# -- windows --------------------------------------------------------------------------------------


@written((ROW, 1), (ROW, 3), (ROW, 0))
def windows_inside(x, i):
    return x[i : i + 2], x[2 * i : 2 + 2 * i] if i < 2 else x[0:2], x[i + 1 - 1 : i + 1]


@written((ROW, 2), (ROW, 5), (ROW, 4))
def windows_that_end_at_a_position(x, i):
    return x[i - 2 : i]


@written((ROW, -3), (ROW, -5))
def windows_from_the_end(x, i):
    return x[i : i + 2]


@written((ROW, 4), (ROW, 9), (ROW, -1), (ROW, -2), (ROW, -7), error_ok=("D2S041",))
def windows_beyond_the_end(x, i):
    return x[i : i + 2]


@written((GRID, 1), (GRID, 0))
def windows_of_a_grid(x, i):
    k = 2
    x[1, i : i + k] = 7.0
    x[:, i : i + k] += 1
    return x[i : i + k, 0], x[..., i : i + k], x[i : i + 1, i : i + k]


@written((ROW, 1), (ROW, 2))
def windows_of_blocks(x, i):
    size = 2
    if i < 2:
        x[i * size : (i + 1) * size] = jnp.array([8.0, 9.0])
    return x


@written((ROW, 7), (ROW, 2))
def windows_of_nothing(x, i):
    return x[i:i], x[i : i + 0].sum()


@case((4.0,), (-1.0,))
def table_of_lists(x):
    rows = [[1, i] for i in range(10)]
    for i in range(1, 10):
        if x > i:
            rows[i][0] = rows[i - 1][0] * 3
        else:
            rows[i][0] = rows[i - 1][1]
    return rows[9][0], rows[4]
