"""Everything a robot folder can get wrong: one line that says what, where and what would work."""

from __future__ import annotations

import contextlib
import copy
import itertools
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import draft_core
from draft_core.errors import DraftError
from tests.draft_core.conftest import FOLDERS, TREE

Make = Callable[..., Path]


def refusal(folder: Path | str) -> str:
    """Return the message with which a folder is refused; nothing is written on the way."""
    before = sorted(Path(folder).rglob("*")) if Path(folder).is_dir() else []
    with pytest.raises(DraftError) as caught:
        draft_core.load(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    if before:
        assert sorted(Path(folder).rglob("*")) == before
    return message


MISTAKES = yaml.safe_load((Path(__file__).parent / "mistakes.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_the_files_is_refused_in_one_line(case: str, make_robot: Make):
    mistake = MISTAKES[case]
    message = refusal(make_robot(replace={mistake["replace"]: mistake["by"]}))
    assert ".yaml" in message
    for fragment in mistake["says"]:
        assert fragment in message


def test_a_file_that_is_a_list_is_refused(make_robot: Make):
    assert "parameters.yaml is a list; it must be a mapping" in refusal(make_robot("- 1\n- 2\n"))


def test_an_empty_file_is_refused(make_robot: Make):
    assert "tree.yaml is empty" in refusal(make_robot(tree=""))


def test_a_large_file_is_refused_before_it_is_read(make_robot: Make):
    message = refusal(make_robot("length: 0.3\n" + "# filler\n" * 1_200_000))
    assert "10800012 bytes" in message
    assert "at most" in message


def test_a_deeply_nested_file_is_refused(make_robot: Make):
    for text in ("a: " + "[" * 5000 + "]" * 5000, "a: " + "{a: " * 200 + "1" + "}" * 200):
        assert "nested deeper than" in refusal(make_robot(text))


def test_an_alias_bomb_is_refused(make_robot: Make):
    bomb = "a: &a [1, 1, 1]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n"
    assert "aliases" in refusal(make_robot(bomb))


def chain(first: str, step: str, levels: int) -> str:
    """Return parameters b0, b1, ... of which each states the one before it twice, or deeper."""
    steps = (f"b{i + 1}: {step.replace('@', f'b{i}')}\n" for i in range(levels))
    return f"b0: {first}\n" + "".join(steps)


BOMBS = {
    "lists": ("[1, 1]", '"${[@, @]}"', 40, "b8: cannot use '${[b7, b7]}': its value is too large"),
    "stated lists": ("[1, 1]", '["${@}", "${@}"]', 40, "b8: its value is too large"),
    "texts": ("abcdefgh", '"${@}${@}"', 40, "b7: cannot use '${b6}${b6}': its value is too large"),
    "lists as text": ("[1, 1]", '"${[@, @]} ${@}"', 40, "too large"),
    "conditional lists": ("[1, 1]", '"${[@, @] if 1 < 2 else @}"', 40, "b8: cannot use"),
    # a tuple of a tuple ... recursed deeper than Python can follow
    "deep lists": ("[1, 1]", '"${[@]}"', 2000, "b16: cannot use '${[b15]}': its value has lists"),
    # 1 < 2 is True, True + True is a whole number, and its squares double their digits
    "switches": ('"${(1 < 2) + (1 < 2)}"', '"${@ * @}"', 40, "b10 is inf"),
    "powers": ("9", '"${@ ** 32}"', 40, "b2: cannot use '${b1 ** 32}': its value is too large"),
}


@pytest.mark.parametrize("case", BOMBS)
def test_a_value_that_doubles_is_refused_at_once(case: str, make_robot: Make):
    # Each took minutes or gigabytes: what is shared in memory is counted each time it occurs.
    first, step, levels, says = BOMBS[case]
    folder = make_robot(chain(first, step, levels))
    start = time.perf_counter()
    assert says in refusal(folder)
    assert time.perf_counter() - start < 1.0


def test_lists_of_tree_yaml_are_bounded_too(make_robot: Make):
    text = chain("[1, 1]", '"${[@, @]}"', 6) + "length: 0.3\nmass: 1.0\n"
    nested = "${[" + ", ".join(["b6"] * 20) + "]}"
    tree = TREE.replace("center: [0, 0,", f'pos: "{nested}"\n    center: [0, 0,')
    assert "its value is too large" in refusal(make_robot(text, tree))


def test_long_names_make_no_long_messages(make_robot: Make):
    long = "x" * 1000
    assert "cannot be a name" in refusal(make_robot(f"{long}: 1\n"))
    assert "unknown key" in refusal(make_robot(replace={"robot: cart": f"{long}: cart"}))


def test_binary_is_refused(make_robot: Make):
    folder = make_robot()
    (folder / "tree.yaml").write_bytes(b"\xff\xfe\x00robot")
    assert "not UTF-8" in refusal(folder)
    (folder / "tree.yaml").write_bytes(b"robot: \x00")
    assert "tree.yaml" in refusal(folder)


def test_many_nodes_are_refused(make_robot: Make):
    nodes = "".join(f"  n{i}: {{}}\n" for i in range(501))
    assert "at most 500" in refusal(make_robot(tree=f"robot: many\nnodes:\n{nodes}"))


def test_a_missing_folder_or_file_is_refused(tmp_path: Path, make_robot: Make):
    assert "does not exist" in refusal(tmp_path / "nowhere")
    folder = make_robot()
    assert "is a file" in refusal(folder / "tree.yaml")
    (folder / "tree.yaml").unlink()
    assert "has no tree.yaml" in refusal(folder)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, make_robot: Make):
    folder = make_robot()
    outside = tmp_path / "outside.yaml"
    (folder / "parameters.yaml").rename(outside)
    (folder / "parameters.yaml").symlink_to(outside)
    assert "outside the robot folder" in refusal(folder)


def test_a_folder_reached_by_a_link_is_read(tmp_path: Path, make_robot: Make):
    (tmp_path / "link").symlink_to(make_robot())
    assert draft_core.load(tmp_path / "link").name == "cart"


JUNK: list[Any] = [
    *(None, True, -1, 0, float("nan"), 1e300, 10**30, "", "x", "${", "${x}", "${1/0}", "${[1]}"),
    *([], [1], [1, 2, 3], {}, {"x": 1}, "${pi}", "left", "body", "${sqrt(-1)}", "\u2028", "é"),
]


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the path of every value in nested mappings and lists."""
    yield path
    if isinstance(data, dict | list):
        items = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in items:
            yield from places(value, (*path, key))


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return the data with the value at a path replaced."""
    if not path:
        return value
    result = copy.copy(data)
    result[path[0]] = changed(data[path[0]], path[1:], value)
    return result


@pytest.mark.parametrize("seed", range(4))
def test_random_mistakes_never_end_in_another_error(seed: int, make_robot: Make):
    # Each value of a robot with every feature, replaced by junk: it is refused or it
    # works, compiling included.
    rng = random.Random(seed)
    files = {
        name: yaml.safe_load(
            (Path(FOLDERS["everything"]) / f"{name}.yaml").read_text(encoding="utf-8")
        )
        for name in ("parameters", "tree")
    }
    spots = [(name, path) for name, data in files.items() for path in places(data)]
    cases = rng.sample(list(itertools.product(spots, JUNK)), 50)
    for (name, path), junk in cases:
        texts = {
            key: yaml.safe_dump(changed(data, path, junk) if key == name else data)
            for key, data in files.items()
        }
        with contextlib.suppress(DraftError):  # always one line, as DraftError sees to
            draft_core.load(make_robot(texts["parameters"], texts["tree"])).compile()
