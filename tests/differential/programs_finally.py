"""Programs around `finally`, names of handlers, and exits through both."""

# ruff: noqa: F821

from . import codes
from .harness import case

LOG: list[str] = []


class Mine(Exception):
    pass


# --- what runs, and in which order ---------------------------------------------------------------


@case((1.0,), (-1.0,), grad=True)
def runs_without_an_exception(x):
    try:
        y = x * 2
    finally:
        x = x + 1
    return x, y


@case((1.0,), (-1.0,))
def runs_before_the_exception_leaves(x):
    y = 0.0
    try:
        y = x
        if x < 0:
            raise ValueError("negative")
        y = y + 1
    finally:
        y = y * 10
    return y


@case((1,), (-1,), (0,))
def outer_handler_sees_what_finally_wrote(n):
    y = 0
    try:
        try:
            if n < 0:
                raise ValueError("negative")
            y = 1
        finally:
            y = y + 10
    except ValueError:
        y = y + 100
    return y


@case((1,), (-1,), (0,))
def all_four_clauses(n):
    y = 0
    try:
        y = 1
        if n < 0:
            raise ValueError("negative")
        y = 2
    except ValueError:
        y = y + 10
    else:
        y = y + 20
    finally:
        y = y + 100
    return y


@case((1,), (-1,), (0,), flavours=("static",), error_ok=codes.EFFECT)
def order_of_the_clauses(n):
    log = []
    try:
        log.append("try")
        if n < 0:
            raise ValueError("negative")
        if n == 0:
            raise KeyError("zero")
    except ValueError as e:
        log.append(str(e))
    else:
        log.append("else")
    finally:
        log.append("finally")
        LOG.extend(log)
    return log


@case((1,), (-1,), flavours=("static",))
def exception_in_finally_replaces(n):
    try:
        if n < 0:
            raise ValueError("first")
    finally:
        raise KeyError("second")


@case((1,), (-1,), (-5,))
def run_time_exception_in_finally(n):
    try:
        if n < 0:
            raise ValueError("first")
    finally:
        if n < -3:
            raise KeyError("second")
        n = n + 1
    return n


@case((1,), (-1,), (-5,))
def exception_in_a_handler(n):
    y = 0
    try:
        try:
            if n < 0:
                raise ValueError("first")
        except ValueError:
            y = 1
            if n < -3:
                raise KeyError("second")
            y = 2
        finally:
            y = y + 10
    except KeyError:
        y = y + 100
    return y


@case((1,), (-1,), flavours=("static",))
def context_and_cause(n):
    try:
        try:
            raise ValueError(n)
        finally:
            if n < 0:
                raise KeyError("inner")
    except (KeyError, ValueError) as e:
        return type(e).__name__, type(e.__context__).__name__, e.__cause__


@case((1,), (-1,), (0,))
def three_levels(n):
    y = 1
    try:
        try:
            try:
                if n < 0:
                    raise ValueError("negative")
                y = y * 2
            finally:
                y = y * 3
        finally:
            y = y * 5
            if n == 0:
                raise Mine("zero")
    except (ValueError, Mine):
        y = -y
    finally:
        y = y * 7
    return y


# --- return --------------------------------------------------------------------------------------


@case((1.0,), (-1.0,))
def return_in_try(x):
    y = [0.0]
    try:
        return x * 2
    finally:
        y[0] = x


@case((1,), (-1,))
def return_value_is_computed_before_finally(n):
    y = n
    try:
        return y
    finally:
        y = y + 100


@case((1,), (-1,))
def some_paths_return_in_try(n):
    y = 0
    try:
        if n > 0:
            return n * 10
        y = 1
    finally:
        n = n + 1
    return n + y


@case((1,), (-1,))
def return_in_finally_overrides(n):
    try:
        return n
    finally:
        return n + 100


@case((1,), (-1,))
def return_in_finally_swallows(n):
    try:
        if n < 0:
            raise ValueError("negative")
        n = n * 2
    finally:
        return n


@case((1, 1), (-1, 1), (1, -1), (-1, -1))
def finally_returns_on_some_paths(n, m):
    try:
        if n < 0:
            raise ValueError("negative")
        return n
    finally:
        if m > 0:
            return m + 100


@case((1, 1), (-1, 1), (1, -1), (-1, -1))
def finally_may_return_then_default(n, m):
    y = 0
    try:
        if n < 0:
            raise ValueError("negative")
        y = 1
    except ValueError:
        y = 2
    finally:
        y = y * 2
        if m < 0:
            return y
    return y + 1000


@case((1,), (-1,), (0,))
def returns_from_every_clause(n):
    try:
        if n < 0:
            raise ValueError("negative")
        if n == 0:
            return 5
    except ValueError:
        return 10
    else:
        return 20
    finally:
        n = 0


def reciprocal(n):
    if n == 0:
        raise ZeroDivisionError("of zero")
    return 1 // n


@case((1,), (0,))
def exception_while_returning(n):
    try:
        return reciprocal(n)
    except ZeroDivisionError:
        return -1
    finally:
        LOG.append("done")


@case((1,), (-1,), (0,))
def return_in_a_handler(n):
    y = 1
    try:
        if n < 0:
            raise ValueError("negative")
        y = 2
    except ValueError:
        if n < -5:
            return 0
        y = 3
    finally:
        y = y + 10
    return y


@case((1,), (-1,), (3,))
def nested_returns_in_finally(n):
    try:
        try:
            if n < 0:
                raise ValueError("negative")
            return 1
        finally:
            if n > 2:
                return 2
    except ValueError:
        return 3
    finally:
        n = n + 1


@case((1,), (-1,), error_ok=codes.RETURN_NONE)
def bare_return_in_finally(n):
    try:
        if n < 0:
            return 5
    finally:
        if n > 0:
            return


# --- loops ---------------------------------------------------------------------------------------


@case((5, 2), (5, 9), (0, 1))
def break_in_try_of_a_loop(n, stop):
    total = ends = 0
    for i in range(n):
        try:
            if i == stop:
                break
            total = total + i
        finally:
            ends = ends + 1
    return total, ends


@case((5, 2), (5, 9), (0, 1))
def continue_in_try_of_a_loop(n, skip):
    total = ends = 0
    for i in range(n):
        try:
            if i == skip:
                continue
            total = total + i
        finally:
            ends = ends + 1
        total = total + 100
    return total, ends


@case((5, 2), (5, 9), (0, 1))
def break_in_finally(n, stop):
    total = 0
    for i in range(n):
        try:
            total = total + i
            if i == 1:
                raise ValueError("one")
        except ValueError:
            total = total + 50
        finally:
            if i == stop:
                break
        total = total + 100
    else:
        total = -total
    return total


@case((5, 2), (3, 0), (0, 1))
def break_in_finally_swallows(n, stop):
    total = 0
    i = 0
    while i < n:
        i = i + 1
        try:
            if i == 2:
                raise ValueError("two")
            total = total + i
        finally:
            if i >= stop:
                break
    return total, i


@case((5, 2), (3, 1), (0, 1))
def continue_in_finally(n, skip):
    total = 0
    for i in range(n):
        try:
            if i == skip:
                raise ValueError("skipped")
            total = total + i
        finally:
            continue
    return total


@case((5, 2), (5, 9), (0, 1))
def return_in_try_of_a_loop(n, stop):
    ends = 0
    for i in range(n):
        try:
            if i == stop:
                return ends, i
        finally:
            ends = ends + 1
    return ends, -1


@case((5, 2), (5, 9))
def return_then_continue_in_finally(n, stop):
    ends = 0
    for i in range(n):
        try:
            if i == stop:
                return -1
        finally:
            ends = ends + 1
            continue
    return ends


@case((5, 2), (5, 9))
def break_of_an_inner_loop_in_finally(n, stop):
    total = 0
    for i in range(n):
        try:
            total = total + 1
        finally:
            for j in range(3):
                if j == 1:
                    break
                total = total + 10
        if i == stop:
            break
    return total


@case((4, 1), (4, 7), (0, 0))
def loop_in_try_in_loop(n, bad):
    total = 0
    for i in range(n):
        try:
            for j in range(i):
                if j == bad:
                    raise Mine("bad")
                total = total + 1
        except Mine:
            total = total + 100
            continue
        finally:
            total = total + 1000
        total = total + 10
    return total


@case((3, 1), (3, 5), (0, 5))
def exception_leaves_a_loop_through_finally(n, bad):
    y = 0
    try:
        for i in range(n):
            try:
                if i == bad:
                    raise Mine("bad")
                y = y + 1
            finally:
                y = y + 10
    except Mine:
        y = -y
    return y


@case((3,), (0,), flavours=("static",))
def static_loop_with_finally(n):
    log = []
    for k in ["a", "b", "c"][:n]:
        try:
            log.append(k)
            if k == "b":
                continue
            log.append(k * 2)
        finally:
            log.append("end")
    return log


# --- names ---------------------------------------------------------------------------------------


@case((1,), (-1,), error_ok=codes.UNBOUND)
def unbound_in_finally(n):
    try:
        if n < 0:
            raise ValueError("negative")
        y = 1
    finally:
        n = n + y
    return n


@case((1,), (-1,), error_ok=(*codes.UNBOUND, *codes.MESSAGE))
def name_of_a_handler_in_its_body(n):
    try:
        if n < 0:
            raise ValueError("negative", 3)
        y = 0
    except ValueError as e:
        y = len(e.args) + e.args[1]
    return y


@case((1,), (-1,))
def two_names_bound_beside_a_raise(n):
    try:
        if n > 0:
            raise KeyError
        else:
            y = 2
            z = y + 1
    except KeyError:
        y = z = 10
    return y, z


@case((1,), (-1,), flavours=("static",))
def name_of_a_handler_hides_a_variable(n):
    e = 5
    try:
        if n < 0:
            raise ValueError("negative")
    except ValueError as e:
        n = str(e)
    return n, e


@case((1,), (-1,), flavours=("static",))
def name_of_a_handler_is_rebound(n):
    try:
        raise ValueError("always")
    except ValueError as e:
        kept = e
        e = 5
        n = n + e
    try:
        return e
    except NameError as missing:
        return n, str(kept), type(missing).__name__


@case((1,), (-1,), flavours=("static",))
def name_of_a_handler_is_deleted(n):
    try:
        raise ValueError("always")
    except ValueError as e:
        text = str(e)
        del e
    return text, n


@case((1,), (-1,), flavours=("static",))
def closure_over_a_handlers_name(n):
    try:
        raise ValueError(n)
    except ValueError as e:
        f = lambda: e
        inside = f().args
    try:
        f()
    except NameError as missing:
        return inside, str(missing)


@case((1,), (-1,), flavours=("static",))
def same_name_in_nested_handlers(n):
    try:
        try:
            raise ValueError("a")
        except ValueError as e:
            try:
                raise KeyError("b")
            except KeyError as e:
                inner = str(e)
            return inner, e
    except UnboundLocalError as e:
        return "unbound", str(e)


@case((3,), (0,), flavours=("static",))
def exceptions_kept_from_a_loop(n):
    kept = []
    for k in range(n):
        try:
            raise ValueError(k)
        except ValueError as e:
            kept.append(e)
    return [e.args for e in kept]


@case((1,), (-1,), (0,), flavours=("static",))
def raise_again_and_from(n):
    try:
        try:
            if n < 0:
                raise KeyError("first")
            if n == 0:
                raise ValueError("zero")
        except KeyError as e:
            raise Mine("second") from e
        except ValueError:
            raise
    except Exception as e:
        return type(e).__name__, type(e.__cause__).__name__, str(e)
    return n


@case((1,), (-1,))
def handler_catches_only_its_kind(n):
    y = 0
    try:
        try:
            if n < 0:
                raise Mine("mine")
            y = 1
        except ValueError:
            y = 2
    except Exception:
        y = 3
    return y


@case((1,), (-1,), (0,), flavours=("static",))
def groups(n):
    log = []
    try:
        if n < 0:
            raise ExceptionGroup("both", [ValueError(1), KeyError(2)])
        if n == 0:
            raise ValueError("alone")
        log.append("fine")
    except* ValueError as e:
        log.append([type(one).__name__ for one in e.exceptions])
    except* KeyError:
        log.append("key")
    finally:
        log.append("end")
    return log


@case((1,), (2,), error_ok=codes.UNSEEN)
def groups_around_run_time_values(n):
    try:
        y = n + 1
        if n > 1:
            y = y * 2
    except* ValueError:
        y = 0
    return y


@case((1,), (-1,), error_ok=codes.UNSEEN)
def run_time_failure_under_groups(n):
    try:
        if n < 0:
            raise ValueError("negative")
        y = 1
    except* ValueError:
        y = 2
    return y


@case((5,), (-5,))
def finally_in_finally_sees_what_was_written(x):
    seen = [0]
    a = 5
    try:
        try:
            if x > 0:
                a = x * 2
                raise ValueError
        finally:
            seen[0] += 1
    except ValueError:
        return a, seen
    return a + 100, seen


@case((5,), (-5,))
def bound_before_a_failure_under_two_finally(x):
    try:
        try:
            try:
                if x > 0:
                    a = 0
                    raise KeyError("stop")
            finally:
                g = x
        except ValueError:
            pass
        finally:
            g = g + 1
    finally:
        print(a, g)


@case((5,), (-5,), (1,))
def finally_in_finally_in_a_loop(x):
    total = 0
    for i in range(3):
        part = 0
        try:
            try:
                part = i + 10
                if x > i * 2:
                    raise ValueError
                part = 100
            finally:
                part = part + 1
        except ValueError:
            total = total + part
            continue
        total = total - part
    return total
