"""A notebook's code as most people write it: pyright, as editors run it, finds no error here."""

import nbaccel as ray

ray.init(num_gpus=2)


@ray.remote
def plain(x, y=1):
    return x


@ray.remote(num_returns="streaming")
def items(n):
    yield from range(n)


@ray.remote(num_gpus=1)
class Model:
    def __init__(self, size=1):
        self.size = size

    def predict(self, x):
        return x * self.size

    async def later(self):
        return self.size


refs = [plain.remote(i) for i in range(3)]
ready, rest = ray.wait(refs, num_returns=2)
print([*ray.get(ready), ray.get(rest[0]) + 1])
print([ray.get(ref) + 1 for ref in items.remote(3)])
first, second = plain.options(num_returns=2, num_cpus=0.5).remote(refs[0], y=2)
models = [Model.remote(size=i) for i in range(2)]
print(ray.get([model.predict.remote(refs[0]) for model in models]))
print(ray.get(models[0].later.remote()) + ray.get(Model.options(name="m").remote().predict.remote(1)))
print(ray.get(plain.remote(plain.remote(models))), ray.get(ray.get_actor("m").predict.options(name="p").remote(1)))
ray.kill(models[0])
