"""Programs around `with`: what managers see, what they swallow, and exits through them."""

import contextlib
import threading

import jax
import jax.numpy as jnp

from . import codes
from .harness import case


class Noted:
    """Writes down when it is entered and left."""

    def __init__(self, log, name, swallows=False):
        self.log, self.name, self.swallows = log, name, swallows

    def __enter__(self):
        self.log.append(f"in {self.name}")
        return self.name

    def __exit__(self, kind, error, traceback):
        self.log.append(f"out {self.name} {kind.__name__ if kind else None}")
        return self.swallows


class Scaled:
    """Has control flow of its own, and does not look at exceptions."""

    def __init__(self, x):
        self.x, self.left = x, 0

    def __enter__(self):
        if self.x > 0:
            return self.x * 2
        return self.x

    def __exit__(self, *unused):
        self.left = self.left + 1


@contextlib.contextmanager
def halved(x):
    yield x / 2


# --- nothing leaves ------------------------------------------------------------------------------


@case((1.0,), (-1.0,), grad=True)
def null_manager(x):
    with contextlib.nullcontext(x) as y:
        if y > 0:
            z = y * 2
        else:
            z = -y
    return z


@case((1.0,), (-1.0,))
def manager_with_control_flow(x):
    scaled = Scaled(x)
    with scaled as y:
        z = y + 1
    return z, scaled.left


@case((1.0,), (-1.0,))
def generator_manager(x):
    with halved(x) as y:
        if y > 0:
            y = y + 10
    return y


@case((3,), (5,))
def several_managers(n):
    log = []
    with Noted(log, "a") as a, Noted(log, "b"), Noted(log, "c") as c:
        log.append(a + c)
        n = n + 1
    return n, log


@case((3,), (5,))
def parenthesized_managers(n):
    with (
        contextlib.nullcontext(n) as a,
        contextlib.nullcontext(a + 1) as b,
    ):
        total = a * b
    return total


@case((3,), (-5,), error_ok=codes.UNSEEN)
def nested_managers(n):
    log = []
    with Noted(log, "a"):
        if n > 0:
            n = n * 2
        with Noted(log, "b"):
            n = n + 1
        n = n * 3
    return n, log


@case((1.0, 2.0), (3.0, 4.0))
def targets_of_every_kind(a, b):
    box = {"k": 0.0}
    holder = [0.0]
    with contextlib.nullcontext((a, (b, a + b))) as (p, (q, *r)):
        with contextlib.nullcontext(p) as box["k"], contextlib.nullcontext(q) as holder[0]:
            pass
    return p, q, r, box, holder


@case((3,), (0,))
def manager_in_a_loop(n):
    total = 0
    lock = threading.Lock()
    with lock:
        for i in range(n):
            with lock if False else contextlib.nullcontext(i) as k:
                total = total + k
    return total


@case((3.0,), (-1.0,))
def manager_in_a_branch(x):
    if x > 0:
        with contextlib.nullcontext(x * 2) as y:
            x = y + 1
    else:
        with contextlib.nullcontext():
            x = -x
    return x


@case((3.0,), (-1.0,), modes=("converted", "static"))
def library_managers(x):
    with jax.named_scope("part"), jax.default_matmul_precision("float32"):
        y = jnp.dot(jnp.ones(2), jnp.ones(2)) * x
        if x > 0:
            y = y + 1
    return y


@case((3,), (7,))
def manager_reads_the_name_it_binds(n):
    m = contextlib.nullcontext(n)
    with m as m:
        m = m + 1
    return m


# --- exits ---------------------------------------------------------------------------------------


@case((1,), (-1,))
def return_inside(n):
    log = []
    with Noted(log, "a"):
        return n + 1, log


@case((1,), (-1,))
def some_paths_return(n):
    with contextlib.nullcontext():
        if n > 0:
            return n * 10
        n = n - 1
    return n


@case((1,), (-1,), (5,))
def returns_through_two_managers(n):
    with contextlib.nullcontext():
        with contextlib.nullcontext():
            if n > 3:
                return 1
        if n > 0:
            return 2
    return 3


@case((1,), (-1,))
def unreachable_after_a_manager(n):
    with contextlib.nullcontext():
        if n > 0:
            return 1
        else:
            return 2
    return 3


@case((5, 2), (5, 9), (0, 0))
def break_inside(n, stop):
    total = 0
    for i in range(n):
        with contextlib.nullcontext(i) as k:
            if k == stop:
                break
            total = total + k
        total = total + 100
    return total


@case((5, 2), (5, 9), (0, 0))
def continue_inside(n, skip):
    total = 0
    for i in range(n):
        with contextlib.nullcontext(i) as k:
            with contextlib.nullcontext():
                if k == skip:
                    continue
                total = total + 1
            total = total + 10
        total = total + 100
    return total


@case((5, 2), (5, 9), (0, 0))
def continue_in_while_inside(n, skip):
    total = i = 0
    while i < n:
        i = i + 1
        with contextlib.nullcontext():
            if i == skip:
                continue
            if i > 7:
                break
        total = total + i
    else:
        total = -total
    return total


@case((5, 2), (5, 9), (0, 0))
def return_from_a_loop_inside(n, stop):
    with contextlib.nullcontext():
        for i in range(n):
            with contextlib.nullcontext():
                if i == stop:
                    return i
    return -1


@case((1,), (-1,), flavours=("static",))
def managers_see_every_exit(n):
    log = []
    for i in range(4):
        with Noted(log, "a"), Noted(log, "b"):
            if i == 0:
                continue
            if i == 2 and n > 0:
                break
            log.append(i)
    with Noted(log, "c"):
        if n < 0:
            return log, "early"
    return log


# --- exceptions ----------------------------------------------------------------------------------


@case((1,), (-1,), flavours=("static",))
def exception_passes(n):
    log = []
    try:
        with Noted(log, "a"):
            with Noted(log, "b"):
                if n < 0:
                    raise ValueError("negative")
                log.append("fine")
    except ValueError as e:
        log.append(str(e))
    return log


@case((1,), (-1,), flavours=("static",))
def exception_is_swallowed(n):
    log = []
    y = 0
    with Noted(log, "a", swallows=True):
        y = 1
        with Noted(log, "b"):
            if n < 0:
                raise ValueError("negative")
        y = 2
    return y, log


@case((1,), (-1,), flavours=("static",))
def swallowed_before_a_return(n):
    log = []
    with Noted(log, "a", swallows=True):
        if n < 0:
            raise ValueError("negative")
        return "returned", log
    return "swallowed", log


@case((1,), (-1,), flavours=("static",))
def exit_undone_by_an_exception(n):
    class Failing:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, traceback):
            if kind is None and n < 0:
                raise KeyError("on the way out")

    log = []
    for i in range(3):
        with Noted(log, "a", swallows=True):
            with Failing():
                if i == 1:
                    return "returned", log
        log.append(i)
    return "went on", log


@case((1,), (-1,), flavours=("static",))
def break_undone_by_an_exception(n):
    log = []
    for i in range(3):
        with Noted(log, "a", swallows=True):
            try:
                if i == 1:
                    break
            finally:
                if n < 0:
                    raise ValueError("on the way out")
    else:
        log.append("no break")
    return log


@case((1,), (-1,), flavours=("static",))
def unbound_after_a_swallowed_exception(n):
    with contextlib.suppress(ValueError):
        if n < 0:
            raise ValueError("negative")
        y = 1
    return y


@case((1,), (-1,), flavours=("static",))
def unbound_in_a_block_after_a_swallowed_exception(n):
    with contextlib.suppress(ValueError):
        if n < 0:
            raise ValueError("negative")
        y = 1
    for _ in range(2):
        y = y + 1
    return y


@case((1,), (-1,), flavours=("static",))
def second_manager_fails_to_enter(n):
    class Closed:
        def __enter__(self):
            if n < 0:
                raise OSError("closed")
            return 5

        def __exit__(self, *rest):
            return None

    log = []
    y = 0
    with Noted(log, "a", swallows=True), Closed() as y:  # noqa: F811
        log.append(y)
    return y, log


@case((1.0,), (-1.0,))
def run_time_failure_passes_by_a_lock(x):
    y = 0.0
    lock = threading.Lock()
    try:
        with lock:
            y = x
            if x < 0:
                raise ValueError("negative")
            y = y + 1
    except ValueError:
        y = y * 10
    return y, lock.locked()


class Doubled(Scaled):
    """Does nothing at its end."""

    def __exit__(self, *unused):
        return None


@case((1.0,), (-1.0,))
def run_time_failure_leaves_a_manager_that_does_nothing(x):
    with Doubled(x) as y:
        if x < 0:
            raise ValueError("negative")
        y = y + 1
    return y


@case((1.0,), (-1.0,), error_ok=codes.UNSEEN)
def run_time_failure_leaves_a_manager_that_counts(x):
    manager = Scaled(x)
    try:
        with manager as y:
            if x < 0:
                raise ValueError("negative")
            y = y + 1
    except ValueError:
        y = 0.0
    return y, manager.left


@case((1.0,), (-1.0,), error_ok=codes.UNSEEN)
def run_time_failure_leaves_a_manager_that_does_not_look(x):
    with Scaled(x) as y:
        if x < 0:
            raise ValueError("negative")
        y = y + 1
    return y


@case((1.0,), (-1.0,), error_ok=codes.UNSEEN)
def run_time_failure_under_a_manager_that_looks(x):
    log = []
    with Noted(log, "a"):
        if x < 0:
            raise ValueError("negative")
        x = x + 1
    return x, log


@case((1.0,), (-1.0,), error_ok=codes.UNSEEN)
def run_time_failure_that_is_suppressed(x):
    y = 0.0
    with contextlib.suppress(ValueError):
        if x < 0:
            raise ValueError("negative")
        y = x
    return y


@case((1.0,), (-1.0,), error_ok=codes.UNSEEN)
def run_time_failure_under_a_generator_manager(x):
    with halved(x) as y:
        if x < 0:
            raise ValueError("negative")
    return y


# --- wrong managers ------------------------------------------------------------------------------


@case((1,), (2,), flavours=("static",))
def not_a_manager(n):
    with n:
        return 1


@case((1,), (2,), flavours=("static",))
def half_a_manager(n):
    class Half:
        def __enter__(self):
            return n

    with Half() as h:
        return h


@case((1,), (2,), flavours=("static",))
def managers_are_looked_up_on_the_class(n):
    class Plain:
        def __enter__(self):
            return "class"

        def __exit__(self, *rest):
            pass

    m = Plain()
    m.__enter__ = lambda: "instance"
    with m as got:
        return got, n


@case((1,), (2,))
def stack_of_managers(n):
    log = []
    with contextlib.ExitStack() as stack:
        for k in range(3):
            log.append(stack.enter_context(contextlib.nullcontext(k)))
        stack.callback(log.append, "left")
        n = n + 1
    return n, log


@case((1,), (2,), flavours=("static",))
def manager_as_decorator(n):
    log = []

    @contextlib.contextmanager
    def around():
        log.append("in")
        yield
        log.append("out")

    @around()
    def inner(k):
        if k > 1:
            return k * 2
        return k

    return inner(n), log


@case((1,), (2,))
def closure_made_inside(n):
    with contextlib.nullcontext(n) as k:
        f = lambda: k + n
        k = k + 1
    n = n * 10
    return f()


@case((1,), (2,), flavours=("static",))
def walrus_in_a_manager(n):
    with (m := contextlib.nullcontext(n)) as k:
        return k, m.enter_result, (j := k + 1) + j
