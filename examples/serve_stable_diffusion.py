"""KubeRay's Stable Diffusion program: a FastAPI ingress and half a GPU, `GET /imagine?prompt=a+cat&img_size=64`.

Run it with `python examples/serve_stable_diffusion.py`. It needs no download: without MODEL, a tiny model of random
weights is made and saved first, so what it draws is noise. MODEL="stabilityai/sd-turbo" serves a real one.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile

from fastapi import FastAPI
from fastapi.responses import Response

import nbaccel as ray
from nbaccel import serve

app = FastAPI()


@serve.deployment
@serve.ingress(app)
class APIIngress:
    def __init__(self, diffusion_model_handle) -> None:
        self.handle = diffusion_model_handle

    @app.get("/imagine", responses={200: {"content": {"image/png": {}}}}, response_class=Response)
    async def generate(self, prompt: str, img_size: int = 512):
        assert len(prompt), "prompt parameter cannot be empty"
        image = await self.handle.generate.remote(prompt, img_size=img_size)
        file_stream = io.BytesIO()
        image.save(file_stream, "PNG")
        return Response(content=file_stream.getvalue(), media_type="image/png")


@serve.deployment(
    ray_actor_options={"num_gpus": 0.5},
    autoscaling_config={"min_replicas": 1, "max_replicas": 2},
)
class StableDiffusionV2:
    def __init__(self, model_id: str, steps: int = 4) -> None:
        import torch
        from diffusers import EulerDiscreteScheduler, StableDiffusionPipeline

        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = torch.float16 if self.device == "cuda" else torch.float32
        scheduler = EulerDiscreteScheduler.from_pretrained(model_id, subfolder="scheduler")
        self.pipe = StableDiffusionPipeline.from_pretrained(model_id, scheduler=scheduler, torch_dtype=dtype)
        self.pipe = self.pipe.to(self.device)
        self.pipe.set_progress_bar_config(disable=True)
        self.steps = steps

    def generate(self, prompt: str, img_size: int = 512):
        import torch

        assert len(prompt), "prompt parameter cannot be empty"
        with torch.autocast(self.device, enabled=self.device == "cuda"):
            return self.pipe(prompt, height=img_size, width=img_size, num_inference_steps=self.steps).images[0]


def tiny_model(folder: str) -> str:
    """Save a pipeline of random weights, 1.7 million of them, whose tokens are bytes; returns its folder."""
    import torch
    from diffusers import AutoencoderKL, EulerDiscreteScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    torch.manual_seed(0)
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    letters = list(bytes_to_unicode().values())
    words = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    tokenizer = CLIPTokenizer(vocab={word: number for number, word in enumerate(words)}, merges=[])
    tokenizer.model_max_length = 77
    text = CLIPTextConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=77, bos_token_id=len(words) - 2, eos_token_id=len(words) - 1, pad_token_id=1,
    )  # fmt: skip
    unet = UNet2DConditionModel(
        sample_size=8, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32, attention_head_dim=8,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    vae = AutoencoderKL(
        block_out_channels=(32, 64), latent_channels=4, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, sample_size=16,
    )  # fmt: skip
    StableDiffusionPipeline(
        vae=vae, text_encoder=CLIPTextModel(text), tokenizer=tokenizer, unet=unet,
        scheduler=EulerDiscreteScheduler(steps_offset=1),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def main() -> None:
    model = os.environ.get("MODEL") or tiny_model(tempfile.mkdtemp())
    ray.init(num_gpus=1) if "--logical" in sys.argv else ray.init()
    handle = serve.run(APIIngress.bind(StableDiffusionV2.bind(model)), blocking="--once" not in sys.argv)
    if "--once" in sys.argv:
        image = handle.generate.remote("a cat", img_size=64).result()
        print("image/png", len(image.body), "bytes")


if __name__ == "__main__":
    main()
