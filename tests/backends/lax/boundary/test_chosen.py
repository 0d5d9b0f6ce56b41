"""Objects that a call has chosen and left in state: a later change of one of two is refused."""

from __future__ import annotations

import copy
import gc

import jax.numpy as jnp
import pytest

import d2s
from d2s.backends.lax.boundary import chosen

F = jnp.float32


class Particle:
    def __init__(self, v):
        self.v, self.w = F(v), F(0)


class Swarm:
    def __init__(self):
        self.all = [Particle(3.0), Particle(1.0), Particle(2.0)]
        self.best = self.all[0]

    @d2s.to_static
    def elect(self, x):
        for one in self.all:
            if abs(one.v - x) < abs(self.best.v - x):
                self.best = one
        return self.best.v

    @d2s.to_static
    def elect_copy(self, x):
        for one in self.all:
            if abs(one.v - x) < abs(self.best.v - x):
                self.best = copy.copy(one)
        return self.best.v

    @d2s.to_static
    def reward(self, r):
        self.best.w = self.best.w + r
        return [one.w for one in self.all]

    @d2s.to_static
    def move(self, r):
        for one in self.all:
            one.v = one.v + r


def refused(call, *args):
    with pytest.raises(d2s.Error) as caught:
        call(*args)
    assert caught.value.code == "D2S077" and "copy" in str(caught.value)


def test_the_copy_is_not_changed():
    swarm = Swarm()
    assert swarm.elect(F(1)) == 1
    refused(swarm.reward, F(5))
    assert [one.w for one in swarm.all] == [0, 0, 0] and swarm.best.w == 0


def test_the_originals_are_not_changed():
    swarm = Swarm()
    swarm.elect(F(1))
    refused(swarm.move, F(5))
    assert [one.v for one in swarm.all] == [3, 1, 2]


def test_what_nobody_has_any_more_is_no_reason():
    swarm = Swarm()
    swarm.elect(F(1))
    swarm.all = [Particle(7.0)]
    gc.collect()
    assert swarm.reward(F(5)) == [0] and swarm.best.w == 5
    swarm.move(F(1))
    assert swarm.all[0].v == 8


def test_a_copy_of_ones_own_is_fine():
    swarm = Swarm()
    swarm.best = copy.copy(swarm.best)
    for x, r in ((1.0, 5.0), (2.0, 7.0)):
        assert swarm.elect_copy(F(x)) == x
        assert swarm.reward(F(r)) == [0, 0, 0]
    assert swarm.best.w == 7


def test_dicts_are_followed_too():
    class Agent:
        net, target = {"w": F(1)}, {"w": F(0)}

    agent = Agent()
    agent.net, agent.target = {"w": F(1)}, {"w": F(0)}

    @d2s.to_static
    def sync(g):
        if g > 1:
            agent.target = agent.net
        return agent.target["w"]

    @d2s.to_static
    def update(g):
        agent.net["w"] = agent.net["w"] + g
        return agent.target["w"]

    assert update(F(2)) == 0 and sync(F(2)) == 3
    refused(update, F(10))
    assert agent.net["w"] == 3
    agent.net = dict(agent.net)  # by the caller: two of them, from now on
    del agent.target
    agent.target = {"w": F(5)}
    assert update(F(10)) == 5 and agent.net["w"] == 13


def test_the_best_so_far_may_be_kept():
    class Trainer:
        pass

    trainer = Trainer()
    trainer.params, trainer.best, trainer.loss = {"w": F(4)}, {"w": F(0)}, F(jnp.inf)

    @d2s.to_static
    def step(target):
        params = {"w": trainer.params["w"] - 1}
        loss = abs(params["w"] - target)
        if loss < trainer.loss:
            trainer.best, trainer.loss = params, loss
        trainer.params = params
        return loss

    for _ in range(4):
        step(F(1))
    assert trainer.params["w"] == 0 and trainer.best["w"] == 1
    count = len(chosen._table.pairs)
    for _ in range(50):
        step(F(1))
    assert len(chosen._table.pairs) <= count + 4  # those that are gone are forgotten
