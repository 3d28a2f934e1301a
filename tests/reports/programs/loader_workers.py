"""Workers of a DataLoader and of notebook_launcher, which are forked, started clusters of their own in silence."""

# only: kernel
# needs: torch, accelerate

# %%
import accelerate
import torch.utils.data

import nbaccel as ray

ray.init(num_cpus=1)
ref = ray.put(5)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return ray.get(ref)


def is_refused(use):
    try:
        use()
    except Exception as error:
        return "was forked from" in str(error)
    return False


# %%
assert is_refused(lambda: list(torch.utils.data.DataLoader(Rows(), num_workers=1, multiprocessing_context="fork")))
assert ray.get(ref) == 5


# %%
assert is_refused(lambda: accelerate.notebook_launcher(lambda: ray.get(ref), num_processes=2))
assert ray.get(ref) == 5
