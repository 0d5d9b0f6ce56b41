"""Lists, dicts and objects that staged blocks make, change and append to."""

import heapq
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import jax.numpy as jnp

from . import codes
from .harness import case

ROWS = (jnp.array([1.0, 2.0, 4.0]),), (jnp.array([0.5, -1.0, 8.0]),)
TABLE = (jnp.arange(6.0).reshape(2, 3),), (-jnp.arange(6.0).reshape(2, 3),)
Pair = namedtuple("Pair", "left right")


class Box:
    def __init__(self, n, s=8.0):
        self.n = n
        self.s = s

    def add(self, v):
        self.n = self.n + v
        return self


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@dataclass
class Point:
    x: object
    y: object = 0.0


# --- Objects made in branches -------------------------------------------------------------------


@case((1.0,), (-1.0,), grad=True, vmap=True)
def object_made_after_a_return(x):
    if x > 0:
        return x
    o = Box(x * 2)
    x = x + 1
    return o.n + x


@case((1.0,), (-1.0,), vmap=True)
def object_made_on_one_side_and_read_there(x):
    y = 0.0
    if x > 0:
        o = Box(x * 2)
        y = o.n
    if x > 0:
        y = y + o.n
    return y


@case((1.0,), (-1.0,), grad=True, vmap=True)
def objects_made_on_both_sides(x):
    if x > 0:
        o = Box(x * 2)
    else:
        o = Box(x - 1, x)
    o.n = o.n + 1
    return o.n, o.s


@case((1.0,), (-1.0,), vmap=True)
def objects_with_slots_made_on_both_sides(x):
    if x > 0:
        o = Slotted(x)
        o.b = 1.0
    else:
        o = Slotted(1.0)
        o.b = x
    o.a = o.a + o.b
    return o.a, o.b


@case((1.0,), (-1.0,), vmap=True)
def dataclasses_and_namedtuples_made_on_both_sides(x):
    if x > 0:
        p, q = Point(x), Pair(x, Point(1.0))
    else:
        p, q = Point(1.0, x), Pair(2.0, Point(x))
    p.y = p.y + 1
    q.right.x = q.right.x * 3
    return p.x, p.y, q.left, q.right.x


@case((1.0,), (-1.0,), vmap=True)
def namespaces_made_on_both_sides(x):
    s = SimpleNamespace(v=x) if x > 0 else SimpleNamespace(v=-x * 2)
    s.w = s.v + 1
    return s.v, s.w


@case((1.0,), (-1.0,))
def objects_in_lists_and_dicts_in_objects(x):
    if x > 0:
        o = Box([Box(x), {"k": Box(1.0)}])
    else:
        o = Box([Box(2.0), {"k": Box(x)}])
    o.n[1]["k"].n = o.n[0].n + 5
    o.n.append(3.0)
    return o.n[0].n, o.n[1]["k"].n, len(o.n)


@case((1.0,), (-1.0,), error_ok=codes.STRUCTURE)
def objects_of_two_classes(x):
    o = Box(x) if x > 0 else Point(x, 2.0)
    return isinstance(o, Box)


@case((1.0,), (-1.0,), error_ok=codes.STRUCTURE)
def objects_with_other_attributes(x):
    if x > 0:
        o = Box(x)
    else:
        o = Box(x)
        o.extra = 1.0
    return o.n


@case((1.0,), (-1.0,), error_ok=codes.STATIC_VALUES)
def object_that_contains_itself(x):
    if x > 0:
        o = Box(x)
        o.me = o
    else:
        o = Box(1.0)
        o.me = o
    return o.n


@case((1.0,), (-1.0,))
def one_object_in_two_places(x):
    if x > 0:
        a = [x]
        b = (a, 1.0)
    else:
        a = [1.0]
        b = (a, x)
    a.append(2.0)
    return b[0], a is b[0], b[1]


@case((1.0,), (-1.0,), error_ok=codes.CHANGE)
def one_object_here_and_two_there(x):
    if x > 0:
        a = [x]
        b = a
    else:
        a = [1.0]
        b = [1.0]
    a[0] = 5.0
    return b


@case((1.0,), (-1.0,), error_ok=(*codes.STATIC_VALUES, *codes.OBJECTS))
def function_that_holds_a_value_of_its_branch(x):
    if x > 0:
        return x
    y = x * 2
    o = Box(y)

    def give():
        return y + o.n

    x = x + 1
    return give() + x


@case((1.0,), (-1.0,), error_ok=codes.STATIC_VALUES)
def bound_method_of_an_object_of_a_branch(x):
    if x > 0:
        o = Box(x)
        add = o.add
    else:
        o = Box(1.0)
        add = o.add
    add(2.0)
    return o.n


# --- Changes in branches ------------------------------------------------------------------------


@case((1.0,), (-1.0,), grad=True, vmap=True)
def attribute_new_on_both_sides(x):
    o = Box(x)
    if x > 0:
        o.a = 1.0
    else:
        o.a = x * 3
    return o.a + o.n, len(vars(o))


@case((1.0,), (-1.0,))
def attribute_in_slots_new_on_both_sides(x):
    o = Slotted(x)
    if x > 0:
        o.b = 1.0
    else:
        o.b = x
    return o.a, o.b


@case((1.0,), (-1.0,), error_ok=codes.CHANGE)
def attribute_deleted_on_one_side(x):
    o = Box(x)
    if x > 0:
        del o.s
    return o.n


@case((1.0,), (-1.0,), vmap=True)
def attribute_deleted_on_both_sides(x):
    o = Box(x)
    if x > 0:
        del o.s
    else:
        o.n = o.s
        del o.s
    return o.n, hasattr(o, "s")


@case((1.0,), (-1.0,), vmap=True)
def keys_new_on_both_sides_in_order(x):
    d = {"z": x}
    if x > 0:
        d["k"] = 1.0
        d["a"] = x
    else:
        d["k"] = x
        d["a"] = 2.0
    d["z"] = d["k"] + 1
    return d


@case((1.0,), (-1.0,), error_ok=codes.CHANGE)
def keys_new_in_another_order(x):
    d = {"z": x}
    if x > 0:
        d["k"] = 1.0
        d["a"] = x
    else:
        d["a"] = 2.0
        d["k"] = x
    return "".join(d)


@case((1.0,), (-1.0,))
def keys_popped_and_deleted(x):
    d = {"z": x, "y": 2.0, "w": 3.0}
    if x > 0:
        r = d.pop("z") + d.pop("none", 5.0)
    else:
        r = d["y"]
        del d["z"]
    return d, r


@case((1.0,), (-1.0,))
def update_and_setdefault(x):
    d = {"z": x}
    if x > 0:
        d.update(q=1.0, z=5.0)
        d.setdefault("z", 9.0)
    else:
        d.setdefault("q", x)
    return d


@case((1.0,), (-1.0,))
def key_moved_to_the_end_on_both_sides(x):
    d = {"a": x, "b": 1.0}
    if x > 0:
        d["a"] = d.pop("a") + 1
    else:
        d["a"] = d.pop("a") * 2
    return d, list(d)


@case((1.0,), (-1.0,), error_ok=codes.CHANGE)
def key_moved_to_the_end_on_one_side(x):
    d = {"a": x, "b": 1.0}
    if x > 0:
        d["a"] = d.pop("a") + 1
    return list(d)


@case((1.0,), (-1.0,))
def other_kinds_of_dicts(x):
    o, d = OrderedDict(a=x), defaultdict(list)
    if x > 0:
        d["k"].append(x)
        o["b"] = 1.0
    else:
        d["k"].append(2.0)
        o["b"] = x
    return o["b"], d["k"], type(o).__name__, d.default_factory is list


@case((1.0,), (-1.0,), error_ok=codes.CHANGE)
def entry_that_a_defaultdict_makes_on_one_side(x):
    d = defaultdict(float)
    if x > 0:
        x = x + d["k"]
    return x, len(d)


@case((1.0,), (-1.0,))
def queue_on_both_sides(x):
    q = deque([x, 5.0], maxlen=3)
    if x > 0:
        q.append(1.0)
    else:
        q.appendleft(x)
    return list(q), q.maxlen


@case((1.0,), (-1.0,))
def full_queue_on_one_side(x):
    q = deque([x, 5.0], maxlen=2)
    if x > 0:
        q.append(1.0)
    return list(q)


@case((1.0,), (-1.0,), error_ok=(*codes.CHANGE, "D2S010"))
def sets_and_heaps(x):
    s, h = set(), [3.0]
    if x > 0:
        s.add("pos")
        heapq.heappush(h, 1.0)
    else:
        s.add("neg")
    return sorted(s), h


@case((1.0,), (-1.0,), vmap=True)
def append_on_both_sides(x):
    items = [x]
    same = items
    if x > 0:
        items.append(1.0)
    else:
        items.append(x * 2)
    return items, same is items, len(same)


@case((1.0,), (-1.0,), error_ok=codes.CHANGE)
def append_on_one_side(x):
    items = [x]
    if x > 0:
        items.append(1.0)
    return items


@case((1.0,), (-1.0,))
def pop_on_both_sides(x):
    items = [x, 2.0, 3.0]
    if x > 0:
        y = items.pop() - items.pop(0)
    else:
        items.clear()
        items.insert(0, x)
        y = 7.0
    return items, y


@case((1.0,), (-1.0,), vmap=True)
def list_chosen_and_changed(x):
    if x > 0:
        items = [x, 1.0]
    else:
        items = [1.0, x]
    items.append(3.0)
    items[0] = items[0] + 1
    return items


@case((1.0,), (-1.0,), vmap=True)
def list_replaced_and_changed(x):
    items = [x, 1.0]
    if x > 0:
        items = [items[1], items[0] * 2]
    items.append(3.0)
    return items


@case((1.0,), (-1.0,), error_ok=codes.CHANGE)
def list_replaced_and_changed_under_another_name(x):
    items = [x, 1.0]
    old = items
    if x > 0:
        items = [3.0, 4.0]
    items[0] = 9.0
    return old, items


@case((1.0,), (-1.0,), error_ok=codes.CHANGE)
def object_chosen_and_changed_under_another_name(x):
    a = Box(x)
    o = a
    if x > 0:
        o = Box(1.0)
    o.n = 7.0
    return a.n


@case((1.0,), (-1.0,))
def same_object_on_both_sides(x):
    a = Box(x)
    if x > 0:
        o = a
        o.n = 2.0
    else:
        o = a
    o.s = 5.0
    return o is a, a.n, a.s


@case((1.0,), (-1.0,))
def object_changed_in_helpers(x):
    def bump(box, by):
        if by > 0:
            box.add(by).add(1.0)
        else:
            box.fresh = by
            del box.fresh

    o = Box(x)
    bump(o, x)
    return o.n, list(vars(o))


@case((1.0,), (-1.0,))
def new_attribute_before_a_failure(x):
    o = Box(0.0)
    try:
        o.k = 1.0
        if x > 0:
            raise ValueError
        o.k = x
    except ValueError:
        o.n = 2.0
    return o.k, o.n


@case((1.0,), (-1.0,), error_ok=codes.CHANGE)
def append_after_a_failure(x):
    items = []
    try:
        if x > 0:
            raise ValueError
        items.append(x)
    except ValueError:
        pass
    return len(items)


@case((1.0,), (-1.0,))
def entries_and_attributes_deleted_together(x):
    d, o, items = {"a": x, "b": 1.0}, Box(x), [x, 1.0, 2.0]
    if x > 0:
        del d["a"], o.s, items[0]
    else:
        del items[-1], o.s
        del d["a"]
    return d, items, list(vars(o))


@case((1.0,), (-1.0,))
def written_entries_keep_identity(x):
    items, d = [x, [1.0]], {"k": {"n": x}}
    inner, under, same = items[1], d["k"], items
    if x > 0:
        items[1][0], d["k"]["n"] = x * 2, 3.0
        items[0] = items[1][0]
    else:
        d["k"]["n"] = inner[0] = x
    return items, d, items[1] is inner, d["k"] is under, same is items, under["n"] + inner[0]


# --- State of loops -----------------------------------------------------------------------------


@case(*ROWS, grad=True, vmap=True)
def object_carried_by_a_loop(xs):
    o = Box(0.0)
    for v in xs:
        o = Box(o.n + v, o.s)
    o.n = o.n + 1
    return o.n, o.s


@case(*ROWS, vmap=True)
def object_changed_in_a_loop(xs):
    o = Box(0.0)
    same = o
    for v in xs:
        o.add(v)
        if v > 1:
            o.s = v
    return same.n, same.s, same is o


@case((3,), (0,))
def objects_in_a_while(n):
    o = Box(0, [0, Box(1)])
    while o.n < n:
        o.n += 1
        o.s[1].n = o.s[1].n * 2
        o.s[0] = o.s[1].n + 1
    return o.n, o.s[0], o.s[1].n


@case((3,), (0,))
def object_rebound_or_changed_in_a_while(n):
    o = Box(0, 0)
    i = 0
    while i < n:
        if i % 2 == 0:
            o = Box(o.n + 1, i)
        i = i + 1
    return o.n, o.s


@case((3,), (0,), error_ok=codes.CHANGE)
def object_carried_by_a_loop_and_seen_elsewhere(n):
    o = Box(0, 0)
    same = o
    while n > 0:
        o = Box(o.n + 0.5, n)
        n = n - 1
    o.n = 7.0
    return same.n, o.n


@case((3,), (0,))
def object_carried_by_a_loop_and_its_own(n):
    o = Box(0, 0)
    while n > 0:
        o = Box(o.n + 0.5, n)
        n = n - 1
    o.n = o.n + 7.0
    return o.n, o.s


@case((3, 1.0), (0, 2.0), error_ok=codes.CHANGE)
def two_objects_that_change_places(n, x):
    a, b = Box(x), Box(2.0)
    while n > 0:
        a, b = b, a
        n = n - 1
    a.n = 5.0
    return a.n, b.n


@case(*ROWS, error_ok=codes.CHANGE)
def attribute_new_in_a_loop(xs):
    o = Box(0.0)
    for v in xs:
        o.last = v
    return o.last


@case(*ROWS, vmap=True)
def window_that_moves(xs):
    window = [0.0, 0.0]
    total = 0.0
    for v in xs:
        window.pop(0)
        window.append(v)
        total = total + window[0]
    return window, total


@case(*ROWS)
def cache_of_a_decoder(xs):
    cache = {"k": jnp.zeros(3), "v": [jnp.zeros(3), 0]}
    for i, v in enumerate(xs):
        cache["k"] = cache["k"].at[i].set(v)
        cache["v"][0] = cache["v"][0] + v
        cache["v"][1] += 1
    return cache


# --- Lists that loops append to -----------------------------------------------------------------


@case((3,), (5,), flavours=("static",), error_ok=codes.OBJECTS)
def append_in_a_static_loop(n):
    items = []
    for i in range(n):
        items.append(i * i)
        if len(items) > 3:
            items.pop(0)
    return items


@case(*ROWS, grad=True, vmap=True)
def append_and_stack(xs):
    items = []
    total = 0.0
    for v in xs:
        total = total + v
        items.append(total * total)
    return jnp.stack(items), len(items), items[-1]


@case(*ROWS, grad=True)
def append_and_use_as_a_list(xs):
    items = [0.5]
    for v in xs:
        items.append(v)
    for v in xs:
        items.append(v * 2)
    items.append(7.0)
    total = 0.0
    for v in items:
        total = total + v
    return items, total, items[1:3], sum(items), list(zip(items, items[::-1]))[1], 7.0 in items[-1:]


@case(*ROWS)
def all_ways_to_put_rows_together(xs):
    items, wide = [], []
    for v in xs:
        items.append(v)
        wide.append(jnp.array([v, v + 1]))
    return (
        jnp.array(items),
        jnp.asarray(items),
        jnp.stack(wide, axis=1),
        jnp.concatenate(wide),
        jnp.concatenate([*wide, jnp.zeros(1)]),
        jnp.stack(items[1:]),
        jnp.stack([0.0, *items]),
        jnp.array([items, items]),
    )


@case(*ROWS)
def append_of_containers(xs):
    items = []
    for i, v in enumerate(xs):
        items.append((i, {"v": v, "w": [v, "text", None]}, Box(v)))
    items[0][2].n = 5.0
    return [(i, d, o.n) for i, d, o in items], items[0][1]["w"] is items[1][1]["w"]


@case(*ROWS)
def append_to_attributes_and_entries(xs):
    class Log:
        def __init__(self):
            self.rows = []
            self.total = 0.0

        def step(self, v):
            self.total = self.total + v
            self.rows.append(self.total)

    log, d = Log(), {"k": [], "j": [[9.0]]}
    for v in xs:
        log.step(v)
        d["k"].append(v)
        d["j"][0].append(-v)
    return jnp.stack(log.rows), log.total, d


@case(*ROWS)
def extend_and_add_in_place(xs):
    items = [9.0]
    same, more = items, []
    for v in xs:
        items += [v, v + 1]
        more.extend((v, 1.0))
    return items, same is items, same, more


@case(*ROWS)
def append_under_two_names(xs):
    items = []
    same = items
    for v in xs:
        items.append(v)
        same.append(v + 1)
    return same, items is same


@case(*ROWS)
def append_in_a_helper(xs):
    def fill(log, rows):
        for v in rows:
            log.append(v)

    mine = []
    fill(mine, xs)
    mine.append(7.0)
    fill(mine, xs)
    return mine


@case(*TABLE, vmap=True)
def lists_of_lists(table):
    rows, flat = [], []
    for row in table:
        inner = []
        for v in row:
            inner.append(v * 2)
            flat.append((v, v + 1))
        rows.append(inner)
    return jnp.array(rows), rows[1][2], jnp.stack([a for a, _ in flat]), flat[4]


@case(*ROWS, grad=True)
def append_on_both_sides_in_a_loop(xs):
    items = []
    for v in xs:
        if v > 1.5:
            items.append(v)
        else:
            items.append(-v)
    return items


@case(*ROWS, error_ok=codes.CHANGE)
def append_on_one_side_in_a_loop(xs):
    items = []
    for v in xs:
        if v > 1.5:
            items.append(v)
    return items


@case(*ROWS)
def append_with_continue(xs):
    items = []
    for v in xs:
        items.append(v)
        if v > 1.5:
            continue
        v = v + 1
    return items


@case(*ROWS, error_ok=codes.CHANGE)
def append_until_a_break(xs):
    items = []
    for v in xs:
        items.append(v)
        if v > 1.5:
            break
    return items


@case((3,), (0,), error_ok=codes.CHANGE)
def append_in_a_while(n):
    items = []
    while n > 0:
        items.append(n)
        n = n - 1
    return len(items)


@case(*ROWS, grad=True, vmap=True)
def length_read_in_the_loop(xs):
    items = []
    for v in xs:
        items.append(v * len(items))
    return items


@case(*ROWS, vmap=True)
def length_read_in_a_branch_of_the_loop(xs):
    items = [0.0]
    for v in xs:
        if len(items) > 2:
            items.append(v)
        else:
            items.append(-v)
    return items


@case(*ROWS, error_ok=codes.CHANGE)
def grows_to_a_limit(xs):
    items = []
    for v in xs:
        if len(items) < 2:
            items.append(v)
    return items


@case(*ROWS, grad=True, vmap=True)
def last_item_read_in_the_loop(xs):
    items = [1.0]
    for v in xs:
        items.append(items[-1] + v)
    return items, jnp.stack(items)


@case(*ROWS)
def items_read_in_the_loop(xs):
    items, total = [[1.0, 2.0]], 0.0
    for v in xs:
        a, b = items[-1]
        items.append([b, a + v])
        total = total + items[-1][1] * items[0][1]
    return items, total


@case(*ROWS, error_ok=codes.CHANGE)
def last_item_changed_in_the_loop(xs):
    items = [[1.0, 2.0]]
    for v in xs:
        items[-1][0] = v
        items.append([v, 3.0])
    return items


@case(*TABLE)
def length_read_in_an_inner_loop(table):
    items = [3.0]
    for row in table:
        for v in row:
            items.append(v * len(items))
    return items


@case(*TABLE, error_ok=codes.CHANGE)
def last_item_read_in_an_inner_loop(table):
    items = [3.0]
    for row in table:
        for v in row:
            items.append(v + items[-1])
    return items


@case(*ROWS, error_ok=codes.CHANGE)
def list_read_by_a_way_that_stays(xs):
    items, counts = [], []
    held = (items, 1)
    for v in xs:
        items.append(v)
        counts.append(v * len(held[0]))
    return counts


@case(*ROWS, error_ok=codes.CHANGE)
def list_read_by_a_method_that_was_kept(xs):
    items, total = [], 0.0
    count = items.__len__
    for v in xs:
        items.append(v)
        total = total + count()
    return total


@case(*ROWS, error_ok=codes.CHANGE)
def list_read_as_a_default(xs):
    items, total = [], 0.0

    def count(of=items):
        return len(of)

    for v in xs:
        items.append(v)
        total = total + count()
    return total


@case(*ROWS, error_ok=codes.CHANGE)
def list_read_as_an_attribute_of_a_class(xs):
    items, total = [], 0.0

    class Held:
        log = items

    for v in xs:
        items.append(v)
        total = total + len(Held.log)
    return total


@case(*ROWS, error_ok=codes.CHANGE)
def list_read_in_the_loop_in_many_ways(xs):
    items, other = [], []
    for v in xs:
        items.append(v)
        other.append(len([1.0] + items))
    return other


@case(*ROWS, error_ok=codes.CHANGE)
def truth_of_the_list_in_the_loop(xs):
    items = []
    for v in xs:
        if not items:
            v = v + 1
        items.append(v)
    return items


@case(*ROWS, error_ok=codes.CHANGE)
def pop_and_insert_in_a_loop(xs):
    items = [1.0, 2.0, 3.0]
    for v in xs:
        items.insert(0, v)
        items.insert(0, v)
        items.pop()
    return items


@case(*ROWS, error_ok=codes.CHANGE)
def heap_in_a_loop(xs):
    heap = []
    for i, _ in enumerate(xs):
        heapq.heappush(heap, i)
    return heap


@case(*ROWS, error_ok=codes.CHANGE)
def append_by_a_method_that_was_kept(xs):
    items = []
    push = items.append
    for v in xs:
        push(v)
    return items


@case(*ROWS, error_ok=codes.CHANGE)
def list_in_a_tuple(xs):
    items = []
    held = (items, 1)
    for v in xs:
        held[0].append(v)
    return items


@case((jnp.zeros((0, 2)),), (jnp.zeros((0, 2)),))
def append_in_no_trip(xs):
    items = [1.0]
    for row in xs:
        items.append(row)
    return items


@case((jnp.zeros((3, 0)),), (jnp.zeros((3, 0)),))
def append_of_empty_rows(xs):
    items = []
    for row in xs:
        items.append(row * 2)
    return jnp.stack(items), jnp.concatenate(items)


@case((2.0,), (3.0,))
def stack_of_what_does_not_stack(x):
    try:
        jnp.stack([])
    except ValueError as error:
        return str(error), x
    return "stacked", x


@case(*ROWS)
def append_and_raise(xs):
    items = []
    for v in xs:
        if v > 5:
            raise ValueError("large")
        items.append(v)
    return items


@case(*ROWS, error_ok=codes.CHANGE)
def append_and_raise_in_a_try(xs):
    items = []
    try:
        for v in xs:
            if v > 5:
                raise ValueError("large")
            items.append(v)
    except ValueError:
        items.append(-1.0)
    return items


@case(*ROWS)
def append_in_a_loop_in_a_branch(xs):
    items = [0.0]
    if xs[0] > 0.7:
        for v in xs:
            items.append(v)
    else:
        for v in xs:
            items.append(-v)
    return items


@case((3,), (0,))
def appended_lists_are_local_to_a_while(n):
    total = 0.0
    while n > 0:
        rows = []
        for v in jnp.arange(3.0):
            rows.append(v * n)
        total = total + jnp.stack(rows).sum()
        n = n - 1
    return total
