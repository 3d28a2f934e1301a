"""A checkpoint is a folder: no copy to read it, and what old names say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbaccel.train import Checkpoint


def test_a_local_one_is_read_in_place(tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text("weights")
    checkpoint = Checkpoint.from_directory(tmp_path)
    with checkpoint.as_directory() as folder:
        assert folder == str(tmp_path)
    copy = checkpoint.to_directory(tmp_path.with_name("copy"))
    assert Path(copy, "model.txt").read_text() == "weights"
    assert repr(checkpoint) == f"Checkpoint(path={str(tmp_path)!r})"
    assert Checkpoint(tmp_path) != Checkpoint(tmp_path)


def test_one_that_is_gone_says_why_that_may_be(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="num_to_keep"):
        with Checkpoint(tmp_path / "gone").as_directory():
            pass


def test_facts_about_it_are_kept_in_it(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.get_metadata() == {}
    checkpoint.set_metadata({"epoch": 1, "by": "me"})
    checkpoint.update_metadata({"epoch": 2})
    assert Checkpoint(tmp_path).get_metadata() == {"epoch": 2, "by": "me"}
    assert os.listdir(tmp_path) == [".metadata.json"]


def test_one_object_is_saved_and_loaded(tmp_path: Path) -> None:
    assert Checkpoint.save({"step": 3}, tmp_path / "a").load() == {"step": 3}
    torch = pytest.importorskip("torch")
    loaded = Checkpoint.save({"weight": torch.ones(3), "step": 3}, tmp_path / "b").load()
    assert loaded["step"] == 3 and loaded["weight"].tolist() == [1, 1, 1]
    with pytest.raises(FileNotFoundError, match=r"no state\.json and no state\.pt"):
        Checkpoint(tmp_path).load()


def test_it_is_no_path_and_old_names_say_where_they_went(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"checkpoint\.path"):
        os.fspath(Checkpoint(tmp_path))
    with pytest.raises(AttributeError, match=r"Checkpoint\.from_dict is gone.*from_directory"):
        Checkpoint.from_dict
    with pytest.raises(AttributeError, match=r"Checkpoint\.to_dict is gone"):
        Checkpoint(tmp_path).to_dict
    assert not hasattr(Checkpoint, "something_else")


@pytest.mark.extra("fsspec")
def test_a_url_is_read_by_a_copy(tmp_path: Path) -> None:
    import fsspec

    local = Checkpoint.save({"step": 3}, tmp_path / "local")
    local.set_metadata({"by": "me"})
    (tmp_path / "local" / "more").mkdir()
    (tmp_path / "local" / "more" / "weights").write_text("w")
    fsspec.filesystem("memory").put(f"{local.path}/", "/kept/one/", recursive=True)
    there = Checkpoint("memory://kept/one")
    assert there.load() == {"step": 3} and there.get_metadata() == {"by": "me"}
    copy = Path(there.to_directory(tmp_path / "copy"))
    assert sorted(os.listdir(copy)) == [".metadata.json", "more", "state.json"]
    assert (copy / "more" / "weights").read_text() == "w"
    with there.as_directory() as folder:
        assert (Path(folder) / "state.json").exists()
    assert not os.path.exists(folder)
    with pytest.raises(FileNotFoundError, match="no checkpoint at memory://kept/two"):
        Checkpoint("memory://kept/two").to_directory()
    fsspec.filesystem("memory").rm("/kept", recursive=True)


def test_a_checkpoint_is_a_path_of_its_filesystem(tmp_path: Path) -> None:
    fs = pytest.importorskip("pyarrow.fs", reason="pyarrow is not installed")
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    (tmp_path / "one").mkdir()
    Checkpoint(tmp_path / "one", filesystem=fs.LocalFileSystem()).set_metadata({"step": 1})
    inside = Checkpoint("one", filesystem=fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))
    assert inside.get_metadata() == {"step": 1} and isinstance(inside.filesystem, fs.SubTreeFileSystem)
    assert os.listdir(inside.to_directory(tmp_path / "copy")) == [".metadata.json"]
