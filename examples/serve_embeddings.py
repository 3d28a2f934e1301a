"""Embeddings with batches, at OpenAI's address: requests that come together share one pass of the model.

Run it with `python examples/serve_embeddings.py`, then
`curl -s http://127.0.0.1:8000/v1/embeddings -d '{"model": "tiny", "input": ["a", "b"]}'`.
The model is a tiny encoder of random weights, made on the spot: a real one is one line in the constructor.
"""

from __future__ import annotations

from typing import Any

import nbaccel
from nbaccel import serve


@serve.deployment(ray_actor_options={"num_gpus": 0.25})
class Embeddings:
    def __init__(self) -> None:
        import torch

        torch.manual_seed(0)
        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
        self.letters = torch.nn.Embedding(257, 32, padding_idx=256).to(self.device).eval()
        self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(self.device).eval()

    @serve.batch(max_batch_size=32, batch_wait_timeout_s=0.005)
    def embed(self, texts: list[str]) -> list[list[float]]:
        """Texts of like lengths go through the model together, so that little of it is padding."""
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        found: dict[int, list[float]] = {}
        for start in range(0, len(order), 8):
            some = order[start : start + 8]
            found.update(zip(some, self.encoded([texts[number] for number in some]), strict=True))
        return [found[number] for number in range(len(texts))]

    def encoded(self, texts: list[str]) -> list[list[float]]:
        torch = self.torch
        rows = [list(text.encode()[:256]) or [32] for text in texts]
        longest = max(map(len, rows))
        ids = torch.tensor([row + [256] * (longest - len(row)) for row in rows], device=self.device)
        is_padding = ids == 256
        with torch.inference_mode():
            states = self.encoder(self.letters(ids), src_key_padding_mask=is_padding)
            kept = states.masked_fill(is_padding[:, :, None], 0.0).sum(1) / (~is_padding).sum(1, keepdim=True)
            return torch.nn.functional.normalize(kept, dim=1).tolist()

    async def __call__(self, request: Any) -> Any:
        import asyncio

        if request.url.path != "/v1/embeddings":
            from starlette.responses import JSONResponse

            return JSONResponse({"error": {"message": "POST /v1/embeddings", "type": "not_found"}}, 404)
        asked = await request.json()
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        vectors = await asyncio.gather(*(self.embed(text) for text in texts))
        rows = [{"object": "embedding", "index": number, "embedding": vector} for number, vector in enumerate(vectors)]
        used = sum(len(text) for text in texts)
        usage = {"prompt_tokens": used, "total_tokens": used}
        return {"object": "list", "model": asked.get("model", "tiny"), "data": rows, "usage": usage}


if __name__ == "__main__":
    nbaccel.init()
    serve.run(Embeddings.bind(), blocking=True)
