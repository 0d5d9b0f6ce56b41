"""What a user is told about an attribute that a run-time value does not have."""

import subprocess
import sys
import traceback

import jax.numpy as jnp
import pytest

import d2s

PROGRAM = """
import d2s, jax.numpy as jnp

@d2s.to_static
def f(x):
    if x[0] > 0:
        return x.summ()
    return x[0]

f(jnp.ones(3))
"""


def test_python_says_what_may_be_meant(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("object has no attribute 'summ'. Did you mean: 'sum'?")
    assert "return x.summ()" in done.stderr


def test_what_only_a_graph_lacks_is_refused():
    """A handler must not take it for an attribute that plain Python lacks, too."""

    @d2s.to_static
    def f(x):
        try:
            return x.devices(), x.unsafe_buffer_pointer()
        except AttributeError:
            return x

    with pytest.raises(d2s.StagingError) as caught:
        f(jnp.ones(2))
    assert caught.value.code == "D2S020"

    @d2s.to_static
    def g(x):
        return x if getattr(x, "sharding", None) is None else -x

    with pytest.raises(d2s.StagingError):
        g(jnp.ones(2))


def test_the_exception_keeps_no_run_time_value():
    @d2s.to_static
    def f(x):
        return x.nope

    with pytest.raises(AttributeError) as caught:
        f(jnp.ones(2))
    assert caught.value.obj is type(jnp.ones(2))
    assert "return x.nope" in "".join(traceback.format_exception(caught.value))
