"""What a notebook needs before its first line: threads, memory, quiet libraries, a safe order of imports, seeds.

`import shared.notebook`, before NumPy or a framework, changes these things in your process:

- OMP_NUM_THREADS and its like for OpenBLAS, MKL, Accelerate and TensorFlow (`runtime.THREADS`) become 2 at most, unless you have
  set them.
- Linux' C library keeps freed memory for the next array (`keep_memory`); set THREE_WAYS_KEEP_MEMORY=0 to leave it as it is.
- TensorFlow's log and five warnings that say nothing of your code are silenced: one each of TensorFlow, Keras, matplotlib,
  tqdm and PyTorch.
- `import tensorflow` first imports triton, if it is installed, and prints nothing.
- A cell that needs a framework which isn't installed says so in a sentence.
- The random generators of Python and of each framework that is already imported are seeded with 0 (`set_seed`).

Nothing heavy is imported here: a notebook on NumPy does not wait for PyTorch or TensorFlow. No other module of this package
changes anything when it is imported; each of the functions in `shared.runtime` can be called by itself.
"""

from shared import runtime

runtime.limit_threads()
runtime.keep_memory()
runtime.quiet_libraries()
runtime.order_imports()
runtime.say_what_is_missing()
runtime.set_seed()
