"""A language model that streams tokens to any OpenAI client, and stops when the client leaves.

Run it with `python examples/serve_tokens.py`, then

    client = openai.OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none")
    client.chat.completions.create(model="tiny", stream=True, messages=[{"role": "user", "content": "Hello"}])

The model is a Llama of two layers and random weights whose tokens are bytes: what it writes has no meaning.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse

import nbaccel
from nbaccel import serve

app = FastAPI()


@serve.deployment(ray_actor_options={"num_gpus": 0.5}, max_ongoing_requests=8)
@serve.ingress(app)
class Tokens:
    def __init__(self) -> None:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        config = LlamaConfig(
            vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=4096, bos_token_id=1, eos_token_id=0, pad_token_id=0,
        )  # fmt: skip
        self.model = LlamaForCausalLM(config).to(self.device).eval()
        self.generating = 0

    def generate(self, prompt: str, most: int, put: Any, left: threading.Event) -> None:
        """Generate in this thread; `left` ends it after the token that is being made."""
        from transformers import StoppingCriteria, StoppingCriteriaList
        from transformers.generation.streamers import BaseStreamer

        class Streamer(BaseStreamer):
            is_prompt = True

            def put(self, value: Any) -> None:
                if not self.is_prompt:
                    put(chr(32 + int(value.flatten()[-1]) % 95))
                self.is_prompt = False

            def end(self) -> None:
                put(None)

        class HasLeft(StoppingCriteria):
            def __call__(self, ids: Any, scores: Any, **given: Any) -> Any:
                return ids.new_full((ids.shape[0],), left.is_set(), dtype=bool)

        ids = self.torch.tensor([list(prompt.encode()[-1024:]) or [32]], device=self.device)
        self.generating += 1
        try:
            self.model.generate(
                ids, attention_mask=self.torch.ones_like(ids), max_new_tokens=most, do_sample=True, streamer=Streamer(),
                stopping_criteria=StoppingCriteriaList([HasLeft()]), eos_token_id=None,
            )  # fmt: skip
        finally:
            self.generating -= 1
            put(None)

    async def pieces(self, prompt: str, most: int) -> AsyncIterator[str]:
        """Tokens as they are made. When nobody reads them any more, the model stops."""
        loop, queue, left = asyncio.get_running_loop(), asyncio.Queue[Any](), threading.Event()
        making = asyncio.ensure_future(
            asyncio.to_thread(
                self.generate, prompt, most, lambda piece: loop.call_soon_threadsafe(queue.put_nowait, piece), left
            )
        )
        try:
            while (piece := await queue.get()) is not None:
                yield piece
            await making  # raises what the model raised
        finally:
            left.set()

    @app.get("/v1/models")
    async def models(self) -> Any:
        return {"object": "list", "data": [{"id": "tiny", "object": "model", "created": 0, "owned_by": "nbaccel"}]}

    @app.get("/generating")
    async def under_way(self) -> int:
        return self.generating

    @app.post("/v1/chat/completions")
    async def chat(self, request: Request) -> Any:
        asked = await request.json()
        if not asked.get("messages"):
            error = {"message": "messages is empty", "type": "invalid_request_error", "param": "messages", "code": None}
            return JSONResponse({"error": error}, 400)
        prompt = str(asked["messages"][-1]["content"])
        most = int(asked.get("max_tokens") or asked.get("max_completion_tokens") or 64)
        pieces = self.pieces(prompt, most)
        if asked.get("stream"):
            has_usage = bool((asked.get("stream_options") or {}).get("include_usage"))
            return StreamingResponse(self.events(pieces, len(prompt), has_usage), media_type="text/event-stream")
        text = "".join([piece async for piece in pieces])
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "length"}
        return {**described("chat.completion"), "choices": [choice], "usage": usage(len(prompt), len(text))}

    async def events(self, pieces: AsyncIterator[str], asked: int, has_usage: bool) -> AsyncIterator[str]:
        made = 0
        about = described("chat.completion.chunk")
        async for piece in pieces:
            made += 1
            delta = {"content": piece} if made > 1 else {"role": "assistant", "content": piece}
            yield event({**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield event({**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
        if has_usage:
            yield event({**about, "choices": [], "usage": usage(asked, made)})
        yield "data: [DONE]\n\n"


def described(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{time.time_ns():x}", "object": kind, "created": int(time.time()), "model": "tiny"}


def usage(asked: int, made: int) -> dict[str, int]:
    return {"prompt_tokens": asked, "completion_tokens": made, "total_tokens": asked + made}


def event(record: dict[str, Any]) -> str:
    return f"data: {json.dumps(record)}\n\n"


if __name__ == "__main__":
    nbaccel.init()
    serve.run(Tokens.bind(), blocking=True)
