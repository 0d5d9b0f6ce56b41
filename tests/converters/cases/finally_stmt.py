# case: handlers and finally
# until: SplitFinally

def f(x):
    try:
        y = g(x)
    except ValueError:
        y = 0
    else:
        y = y + 1
    finally:
        h()
    return y

# output

def f(x):
    try:
        try:
            y = g(x)
        except ValueError:
            y = 0
        else:
            y = y + 1
    finally:
        h()
    return y


# case: one inside the other
# until: SplitFinally

def f(x):
    try:
        try:
            x = 1
        except KeyError:
            x = 2
        finally:
            x = 3
    except ValueError as e:
        x = e
    finally:
        h()
    return x

# output

def f(x):
    try:
        try:
            try:
                try:
                    x = 1
                except KeyError:
                    x = 2
            finally:
                x = 3
        except ValueError as e:
            x = e
    finally:
        h()
    return x


# case: handlers for groups
# until: SplitFinally

def f(x):
    try:
        g(x)
    except* ValueError:
        x = 1
    finally:
        h()
    return x

# output

def f(x):
    try:
        try:
            g(x)
        except* ValueError:
            x = 1
    finally:
        h()
    return x


# case: a finally without handlers
# until: SplitFinally

def f(x):
    try:
        g(x)
    finally:
        h()


# case: handlers without a finally
# until: SplitFinally

def f(x):
    try:
        g(x)
    except ValueError:
        x = 1
    else:
        x = 2
    return x
