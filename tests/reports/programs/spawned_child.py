"""A call with a ref, to a process that multiprocessing spawns, waited for ever: the ref could not be received there."""

# %%
import multiprocessing

import nbaccel as ray

if __name__ == "__main__":  # the child imports a script
    ray.init(num_cpus=1)
    ref = ray.put(5)

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            pool.map_async(ray.get, [ref]).get(60)
        except ray.exceptions.RaySystemError as error:
            assert "not connected" in str(error) and "init()" in str(error), error
        else:
            raise AssertionError("nothing was raised")
        assert ray.get(pool.map_async(list, [[ref]]).get(60)[0]) == [5]
