import d2s


@d2s.to_static
def largest[T: (int, float)](x: T, y: T) -> T:
    if x > y:
        return x  # the first
    return y
# output
import d2s


@d2s.to_static
@d2s.generated
def largest[T: (int, float)](x: T, y: T) -> T:
    def then_2():
        return x  # the first
    def else_2():
        return y
    return d2s.cond(x > y, then_2, else_2)
