"""Files that are not what was written: refused, with one code, and without a crash."""

from __future__ import annotations

import hashlib
import json
import os
import time
import zipfile

import jax
import jax.numpy as jnp
import pytest

import d2s
from d2s.files import archive

from ..deploy.programs import Counter


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "f.d2s"
    d2s.save(Counter(), path, methods={"step": ["f32[3]"], "scale": [float]})
    return path


def refused(path, code="D2S061"):
    with pytest.raises(d2s.Error) as caught:
        loaded = d2s.load(path)
        loaded.step(jnp.ones(3))
    assert caught.value.code == code, caught.value
    assert caught.value.fix
    return str(caught.value)


def parts_of(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


START = b"d2s 1 sha256:"
END = START + b"0" * 64


def sealed(path, comment=START):
    """A zip as a file of d2s's: with the checksum of all its bytes at its end."""
    with zipfile.ZipFile(path, "a") as file:
        file.comment = comment + b"0" * 64
    data = path.read_bytes()[:-64]
    checksum = hashlib.sha256(data[: -len(comment)]).hexdigest()
    path.write_bytes(data + checksum.encode())
    return path


def rewritten(path, parts, **how):
    """A file with other parts whose checksums are right, as a forger would make it."""
    manifest = json.loads(parts["manifest.json"])
    for name in parts:
        if name in manifest["checksums"]:
            manifest["checksums"][name] = hashlib.sha256(parts[name]).hexdigest()
    head = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", **how) as file:
        for name, data in {**parts, "manifest.json": head}.items():
            file.writestr(name, data)
    return sealed(path)


def with_manifest(whole, path, change):
    parts = parts_of(whole)
    manifest = json.loads(parts["manifest.json"])
    change(manifest)
    return rewritten(path, {**parts, "manifest.json": json.dumps(manifest).encode()})


def test_every_truncation_is_refused(whole, tmp_path):
    data = whole.read_bytes()
    for size in [0, 1, 10, len(data) // 2, *range(len(data) - 60, len(data))]:
        path = tmp_path / "cut.d2s"
        path.write_bytes(data[:size])
        refused(path)


def test_every_altered_byte_is_refused(whole, tmp_path):
    data, path = whole.read_bytes(), tmp_path / "altered.d2s"
    with zipfile.ZipFile(whole) as file:
        infos, start = file.infolist(), file.start_dir
    own = [info.header_offset + n for info in infos for n in range(30 + len(info.filename))]
    for spot in {*own, *range(start, len(data)), *range(0, len(data), 61)}:
        changed = bytearray(data)
        changed[spot] ^= 1 << spot % 8
        path.write_bytes(changed)
        with pytest.raises(d2s.Error) as caught:
            archive.read(path)
        assert caught.value.code == "D2S061", spot


@pytest.mark.parametrize("more", [b"junk", b"\0", b"PK\5\6" + bytes(18)])
def test_what_is_before_or_behind_a_file_is_refused(more, whole, tmp_path):
    data, path = whole.read_bytes(), tmp_path / "longer.d2s"
    for content in (more + data, data + more, data + data, data + data[-300:]):
        path.write_bytes(content)
        refused(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"text", b"PK\x05\x06" + bytes(18), os.urandom(5000), b"\x00" * 4096, b"\x80\x04K\x01."],
)
def test_what_is_no_file_of_ours(content, tmp_path):
    path = tmp_path / "other.d2s"
    path.write_bytes(content)
    refused(path)


def test_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        d2s.load(tmp_path / "nothing.d2s")


def test_another_version(whole, tmp_path):
    path = rewritten(tmp_path / "new.d2s", parts_of(whole))
    assert "its format is 2, and this d2s reads 1" in refused(sealed(path, b"d2s 2 sha256:"))
    refused(sealed(path, b"something else "))


@pytest.mark.parametrize("name", ["../../evil.py", "/etc/evil", "C:\\evil", "a/../../b", "x" * 300])
def test_evil_names(name, whole, tmp_path):
    parts = parts_of(whole)
    inner = tmp_path / "inner"
    inner.mkdir()
    refused(rewritten(inner / "evil.d2s", {**parts, name: b"evil"}))
    manifest = json.loads(parts["manifest.json"])
    manifest["checksums"][name] = hashlib.sha256(b"evil").hexdigest()
    named = {**parts, name: b"evil", "manifest.json": json.dumps(manifest).encode()}
    refused(rewritten(inner / "named.d2s", named))
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["evil.d2s", "inner", "named.d2s"]


def test_compressed_parts_are_refused_unread(whole, tmp_path):
    parts = parts_of(whole)
    bomb = {**parts, "state.safetensors": bytes(50_000_000)}
    path = rewritten(tmp_path / "bomb.d2s", bomb, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10_000_000
    refused(path)


def test_sizes_that_lie(whole, tmp_path):
    data = bytearray(whole.read_bytes())
    with zipfile.ZipFile(whole) as file:
        start = file.start_dir
    for offset in (20, 24):  # sizes in the directory
        changed = bytearray(data)
        changed[start + offset : start + offset + 4] = (0xFFFFFF0).to_bytes(4, "little")
        path = tmp_path / "huge.d2s"
        checksum = hashlib.sha256(changed[: -len(END)]).hexdigest().encode()
        path.write_bytes(changed[:-64] + checksum)
        refused(path)


def test_the_same_name_twice(whole, tmp_path):
    parts = parts_of(whole)
    path = tmp_path / "twice.d2s"
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "w") as file:
        for name, data in [*parts.items(), ("manifest.json", b"{}")]:
            file.writestr(name, data)
    refused(sealed(path))


def deep(levels):
    tree = ["out", 0]
    for _ in range(levels):
        tree = ["tuple", [tree]]
    return tree


def failure(manifest):
    return manifest["methods"][0]["failures"][0][0]


CHANGES = {
    "no methods": lambda m: m.pop("methods"),
    "a method less": lambda m: m["methods"].pop(),
    "no constraints": lambda m: m.pop("constraints"),
    "no state": lambda m: m["state"].clear(),
    "other shape": lambda m: m["state"]["w"].update(shape=[10**9, 10**9]),
    "negative shape": lambda m: m["state"]["w"].update(shape=[-1]),
    "other dtype": lambda m: m["state"]["w"].update(dtype="int32"),
    "object dtype": lambda m: m["state"]["w"].update(dtype="object"),
    "no dtype": lambda m: m["state"]["w"].update(dtype="abc"),
    "key of nothing": lambda m: m["state"]["w"].update(key="os.system"),
    "result out of range": lambda m: m["methods"][0].update(result=["out", 10**6]),
    "result of no kind": lambda m: m["methods"][0].update(result=["pickle", "cos\nsystem"]),
    "size of nothing": lambda m: m["methods"][0].update(result=["size", "b"]),
    "size of no kind": lambda m: m["methods"][0].update(result=["size", "__import__('os')"]),
    "result is text": lambda m: m["methods"][0].update(result={"a": 1}),
    "very deep": lambda m: m["methods"][0].update(result=deep(400)),
    "bad name": lambda m: m["methods"][0].update(result=["named", "a b", ["__class__"], [1]]),
    "code as fields": lambda m: m["methods"][0].update(result=["named", "T", ["a=exit()"], [1]]),
    "keyword as name": lambda m: m["methods"][0]["parameters"].insert(0, ["a b", 1, True]),
    "kind of parameter": lambda m: m["methods"][0]["parameters"].insert(0, ["a", 99, True]),
    "no exception": lambda m: failure(m).update({"class": ["os", "system", []]}),
    "other count": lambda m: m["methods"][0].update(count=100),
    "numbers": lambda m: m["methods"][0].update(numbers=[55]),
    "quoted": lambda m: m["methods"][0].update(quoted=[[1, 10**9]]),
    "convention": lambda m: m["methods"][0].update(convention="abc"),
    "a list": lambda m: m.update(methods=[[]]),
    "inputs": lambda m: m["methods"][0].update(inputs=[]),
    "constants": lambda m: m["methods"][0].update(constants=["../x"]),
    "arguments": lambda m: m["methods"][0].update(arguments=[["x", None, ["leaf", 77]]]),
    "writes": lambda m: m["methods"][0].update(writes=[["w", ["exec", "1"]]]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_manifests_that_do_not_describe_the_file(name, whole, tmp_path):
    path = with_manifest(whole, tmp_path / "forged.d2s", CHANGES[name])
    refused(path)


def test_manifests_that_are_no_json(whole, tmp_path):
    parts = parts_of(whole)
    for head in (b"{", b"[]", b"null", b"[" * 100_000, b'{"checksums": 3}', b"\xff\xfe"):
        path = tmp_path / "json.d2s"
        with zipfile.ZipFile(path, "w") as file:
            for name, data in {**parts, "manifest.json": head}.items():
                file.writestr(name, data)
        refused(sealed(path))


@pytest.mark.parametrize("part", ["state.safetensors", "constants.safetensors"])
def test_arrays_that_are_none(part, whole, tmp_path):
    parts = parts_of(whole)
    for data in (b"", os.urandom(100), (10**15).to_bytes(8, "little") + b"{}", bytes(8) + b"{}"):
        refused(rewritten(tmp_path / "arrays.d2s", {**parts, part: data}))


def test_graphs_that_are_none(whole, tmp_path):
    parts = parts_of(whole)
    for data in (b"", b"\x00" * 64, os.urandom(200)):
        path = rewritten(tmp_path / "graph.d2s", {**parts, "methods/0.stablehlo": data})
        text = refused(path, "D2S062")
        assert f"jax {jax.__version__}" in text


def test_a_graph_of_a_future_jax(whole, tmp_path):
    def change(manifest):
        manifest["jax"] = "9.8.7"
        manifest["methods"][0]["convention"] = 99

    text = refused(with_manifest(whole, tmp_path / "future.d2s", change), "D2S062")
    assert "written with jax 9.8.7" in text and "pip install 'jax==9.8.7'" in text


def test_a_platform_that_is_not_here(tmp_path):
    path = tmp_path / "tpu.d2s"
    d2s.save(Counter(), path, methods={"step": ["f32[3]"]}, platforms="tpu")
    loaded = d2s.load(path)
    assert "stablehlo" in loaded.step.hlo(), "it can be looked at everywhere"
    text = refused(path, "D2S062")
    assert "saved for tpu; this process runs on cpu" in text


def test_wide_types_need_the_setting(tmp_path):
    path = tmp_path / "wide.d2s"
    jax.config.update("jax_enable_x64", True)
    try:
        d2s.save(Counter(), path, methods={"step": ["f64[3]"]})
        counter = Counter()
        counter.w = jnp.ones(3, "float64")
        d2s.save(counter, path, methods={"step": ["f64[3]"]})
        assert d2s.load(path).step(jnp.ones(3, "float64")).dtype == "float64"
    finally:
        jax.config.update("jax_enable_x64", False)
    assert "jax_enable_x64" in refused(path, "D2S062")


def test_a_part_larger_than_the_file_is_not_read(monkeypatch, whole, tmp_path):
    monkeypatch.setattr(archive, "_LONGEST", 10)
    refused(whole)


def test_what_is_no_file_on_a_disk(tmp_path):
    """Refused at once: a device has no end, and a pipe waits for somebody who writes."""
    pipe = tmp_path / "pipe.d2s"
    os.mkfifo(pipe)
    folder = tmp_path / "folder.d2s"
    folder.mkdir()
    link = tmp_path / "link.d2s"
    link.symlink_to("/dev/zero")
    for path in ("/dev/zero", "/dev/null", pipe, folder, link):
        assert "no file on a disk" in refused(path)


MANY = 300_000
FORGED = {
    "results": lambda m: m["methods"][0].update(result=["tuple", [["out", 0]] * MANY]),
    "fields": lambda m: m["methods"][0].update(
        result=["named", "T", [f"f{n}" for n in range(MANY)], [["out", 0]] * MANY]
    ),
    "inputs": lambda m: m["methods"][0].update(inputs=m["methods"][0]["inputs"][:1] * MANY),
    "failures": lambda m: m["methods"][0].update(failures=[[{}, []]] * MANY),
    "writes": lambda m: m["methods"][0].update(writes=[["w", ["out", 0]]] * MANY),
    "checksums": lambda m: m.update(checksums={f"a{n}": "" for n in range(MANY)}),
    "in several lists": lambda m: m.update(junk=[[0] * 90_000 for _ in range(20)]),
    "a sum": lambda m: m["methods"][0].update(result=["size", "+".join(["b"] * MANY)]),
}


@pytest.mark.full
@pytest.mark.parametrize("name", FORGED)
def test_manifests_of_very_many_items(name, whole, tmp_path):
    path = with_manifest(whole, tmp_path / "forged.d2s", FORGED[name])
    before = time.process_time()
    refused(path)
    assert time.process_time() - before < 5


def test_files_of_very_many_parts(whole, tmp_path):
    path = tmp_path / "many.d2s"
    with zipfile.ZipFile(path, "w") as file:
        for name, data in parts_of(whole).items():
            file.writestr(name, data)
        for n in range(20_000):
            file.writestr(str(n), b"")
    refused(sealed(path))


def test_functions_that_no_manifest_can_describe(tmp_path):
    with pytest.raises(d2s.Error) as caught:
        d2s.save(lambda x: (x, list(range(200_000))), tmp_path / "long.d2s", "f32[]")
    assert caught.value.code == "D2S060"
    assert not list(tmp_path.iterdir())


LATE = {
    "line of no number": lambda m: failure(m).update(site=["f.py", "a", "f", 0, 0]),
    "line beyond all": lambda m: failure(m).update(site=["f.py", 10**30, "f", 0, 0]),
    "function of no name": lambda m: failure(m).update(site=["f.py", 1, "a\0", 0, 0]),
    "state that is not there": lambda m: m["methods"][0]["writes"][0].__setitem__(0, "no"),
    "part of an argument": lambda m: m["methods"][0]["arguments"][0].__setitem__(1, "x"),
    "values of a message": lambda m: failure(m).update(args=["list", 0, [["later", 99]]]),
    "format of a message": lambda m: failure(m).update(
        args=["list", 0, [["text", [["field", ["later", 0], "r", "q{"]]]]]
    ),
}


@pytest.mark.parametrize("name", LATE)
def test_what_would_fail_in_a_call(name, whole, tmp_path):
    path = with_manifest(whole, tmp_path / "late.d2s", LATE[name])
    with pytest.raises(d2s.Error) as caught:
        loaded = d2s.load(path)
        for x in (jnp.ones(3), -jnp.ones(3), jnp.full(3, 1e6)):
            loaded.step(x=x)
    assert caught.value.code in ("D2S061", "D2S032")


def test_graphs_that_xla_cannot_read(whole, tmp_path):
    """Every such file is refused when it is loaded, or when it is called; some run all the same."""
    parts = parts_of(whole)
    graph = parts["methods/0.stablehlo"]
    codes = set()
    for place in range(100, len(graph), len(graph) // 25):
        data = bytearray(graph)
        data[place] ^= 0x55
        path = rewritten(tmp_path / "graph.d2s", {**parts, "methods/0.stablehlo": bytes(data)})
        try:
            d2s.load(path).step(jnp.ones(3))
        except d2s.Error as error:
            codes.add(error.code)
    assert "D2S061" in codes and codes <= {"D2S061", "D2S062", "D2S032"}
