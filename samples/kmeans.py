"""k-means as it is written with NumPy: `np.` calls, lists, and updates in place.

Only the arguments are jax arrays. The outer loop ends when no point changes its group; the groups
are a list, the centres are changed row by row.
"""

import jax
import jax.numpy as jnp
import numpy as np

import d2s

GROUPS = 3
ROUNDS = 20


@d2s.to_static
def k_means(points, start):
    """Centres, the group of each point, and the number of rounds it took."""
    centres = np.copy(start)
    groups = np.zeros(len(points), dtype=int)
    rounds = 0
    while rounds < ROUNDS:
        distances = []
        for k in range(GROUPS):
            distances.append(np.sum((points - centres[k]) ** 2, axis=1))
        nearest = np.argmin(np.stack(distances, axis=1), axis=1)
        moved = np.sum(nearest != groups)
        groups = nearest
        rounds += 1
        for k in range(GROUPS):
            members = groups == k
            size = np.sum(members)
            if size > 0:  # an empty group stays where it is
                centres[k] = np.sum(points * members[:, None], axis=0) / size
        if moved == 0:
            break
    return centres, groups, rounds


ENTRY = k_means


def examples():
    """Arguments that take different paths through `k_means`."""
    noise = jax.random.normal(jax.random.key(0), (30, 2))
    around = jnp.repeat(jnp.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]]), 10, axis=0)
    far = jnp.full((1, 2), 99.0)
    return [
        (around + noise, (around + noise)[jnp.array([0, 10, 20])]),  # one round is enough
        (around + noise, (around + noise)[:3]),  # all start in one corner
        (noise, jnp.concatenate([noise[:2], far])),  # a group that stays empty
    ]


if __name__ == "__main__":
    for points, start in examples():
        centres, groups, rounds = k_means(points, start)
        sizes = np.bincount(np.asarray(groups), minlength=GROUPS)
        print(f"{rounds} rounds, sizes {sizes.tolist()}, centres\n{np.round(centres, 2)}")
