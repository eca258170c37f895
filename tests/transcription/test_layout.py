from __future__ import annotations

import numpy as np

from codesign.transcription import Layout

LAYOUT = Layout(knots=4, nq=3, nv=2, nu=1, nc=2, n_design=2, n_peaks=1)


def test_fields_cover_the_decision_vector_once() -> None:
    indices = np.concatenate([index.ravel() for index in LAYOUT.fields.values()])
    assert sorted(indices.tolist()) == list(range(LAYOUT.size))


def test_join_undoes_split() -> None:
    z = np.random.default_rng(0).normal(size=LAYOUT.size)
    np.testing.assert_array_equal(LAYOUT.join(LAYOUT.split(z)), z)


def test_an_interval_reads_its_two_knots_and_the_design() -> None:
    z = np.arange(LAYOUT.size, dtype=float)
    fields, local = LAYOUT.split(z), z[LAYOUT.interval_index[1]]
    expected = [fields["q"][1], fields["v"][1], fields["q"][2], fields["v"][2], fields["u"][1]]
    expected += [fields["normal"][1], fields["tangent"][1].ravel(), fields["slide"][1]]
    expected += [fields["dt"][1:2], fields["design"]]
    np.testing.assert_array_equal(local, np.concatenate(expected))


def test_every_entry_can_be_described() -> None:
    for index in range(LAYOUT.size):
        name, knot, element = LAYOUT.describe(index)
        place = element if knot is None else (knot, *element)
        assert LAYOUT.fields[name][place] == index


def test_variable_count_of_the_hexapod_follows_from_the_seeds_formula() -> None:
    # (2n + m + 6l) K + p + 1 + (K − 1)(5l + 1) = 1528 for n = 12, m = 6, l = 6, p = 6, K = 16.
    # Ours: a quaternion adds one number per knot; efforts and forces belong to intervals, of which
    # there is one fewer than knots (−(m + 6l)); summed products need no slacks (−5l (K − 1)).
    knots, n, m, contacts, p = 16, 12, 6, 6, 6
    printed = (2 * n + m + 6 * contacts) * knots + p + 1 + (knots - 1) * (5 * contacts + 1)
    assert printed == 1528
    ours = Layout(knots=knots, nq=13, nv=12, nu=m, nc=contacts, n_design=p, n_peaks=1)
    assert ours.size == printed + knots - (m + 6 * contacts) - (knots - 1) * 5 * contacts
