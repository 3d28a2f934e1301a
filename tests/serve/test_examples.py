"""The examples of serving: the seed's Stable Diffusion program, embeddings in batches, tokens for an OpenAI client."""

from __future__ import annotations

import importlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nbaccel import serve
from tests.census import Place
from tests.rig import wait_until

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports an example. Its code is pickled by value into replicas, as that of a notebook is."""
    from nbaccel import cloudpickle

    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    taken: list[Any] = []

    def take(name: str) -> Any:
        module = importlib.import_module(name)
        cloudpickle.register_pickle_by_value(module)
        taken.append(module)
        return module

    yield take
    for module in taken:
        cloudpickle.unregister_pickle_by_value(module)
        del sys.modules[module.__name__]


@pytest.mark.filterwarnings("default")
@pytest.mark.timeout(400)
def test_the_seeds_stable_diffusion_program_draws_by_http_and_by_handle(
    door: Any, example: Any, tmp_path: Path
) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("diffusers")
    program = example("serve_stable_diffusion")
    folder = program.tiny_model(str(tmp_path))
    handle = serve.run(program.APIIngress.bind(program.StableDiffusionV2.bind(folder, 2)))
    answer = door("/imagine?prompt=a+cat&img_size=64")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
    assert answer.body.startswith(b"\x89PNG")
    assert handle.generate.remote("a dog", img_size=64).result(timeout_s=120).body.startswith(b"\x89PNG")
    assert door("/imagine?prompt=&img_size=64").status == 500
    [row] = serve.status().applications["default"].deployments["StableDiffusionV2"].replicas
    assert row["device_ids"]["GPU"]


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_seeds_program_gives_an_image_on_ray(place: Place) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("diffusers")
    code = (EXAMPLES / "serve_stable_diffusion.py").read_text()
    code = code.replace("ray.init(num_gpus=1)", 'ray.init(engine="ray", num_cpus=4, num_gpus=1, log_to_driver=False)')
    program = place.start(code.replace("sys.argv", '["--once", "--logical"]'), HF_HUB_OFFLINE="1")
    out, errors = program.communicate(timeout=500)
    assert "image/png" in out, errors[-3000:]


@pytest.mark.extra("torch")
@pytest.mark.timeout(300)
def test_embeddings_that_share_a_batch_are_those_of_each_alone(door: Any, example: Any) -> None:
    pytest.importorskip("torch")
    serve.run(example("serve_embeddings").Embeddings.bind())

    def embedded(given: str | list[str]) -> list[list[float]]:
        answer = door("/v1/embeddings", "POST", json.dumps({"model": "tiny", "input": given}))
        assert answer.status == 200, answer.text
        return [row["embedding"] for row in answer.json["data"]]

    texts = [f"text {number} " * (1 + number % 7) for number in range(40)]
    alone = [embedded(text)[0] for text in texts]
    with ThreadPoolExecutor(16) as pool:
        together = [each[0] for each in pool.map(embedded, texts * 5)]
    expected = alone * 5
    assert max(abs(a - b) for x, y in zip(together, expected, strict=True) for a, b in zip(x, y, strict=True)) < 1e-4
    many = embedded(texts)
    assert max(abs(a - b) for x, y in zip(many, alone, strict=True) for a, b in zip(x, y, strict=True)) < 1e-4


@pytest.mark.timeout(300)
def test_tokens_are_streamed_to_an_openai_client_and_end_when_it_leaves(door: Any, example: Any) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("transformers")
    openai = pytest.importorskip("openai")
    serve.run(example("serve_tokens").Tokens.bind())
    client = openai.OpenAI(base_url=f"{serve.status().url}/v1", api_key="none", max_retries=0, timeout=120)
    assert [each.id for each in client.models.list()] == ["tiny"]
    given: Any = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]}
    whole = client.chat.completions.create(max_tokens=8, **given)
    assert len(whole.choices[0].message.content) == 8 and whole.usage.completion_tokens == 8
    parts = list(
        client.chat.completions.create(max_tokens=8, stream=True, stream_options={"include_usage": True}, **given)
    )
    assert sum(bool(part.choices and part.choices[0].delta.content) for part in parts) == 8
    assert parts[-1].usage.completion_tokens == 8
    with pytest.raises(openai.BadRequestError, match="messages is empty"):
        client.chat.completions.create(model="tiny", messages=[])
    leaving = client.chat.completions.create(max_tokens=3000, stream=True, **given)
    next(iter(leaving))
    assert door("/generating").json == 1
    leaving.close()
    wait_until(lambda: door("/generating").json == 0, "the model to stop")
