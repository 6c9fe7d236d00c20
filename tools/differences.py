"""Ask other versions of Keras and PyTorch what the course says of these: `make differences`.

Each row is a small program that prints one word or number. It runs with each version in a process of its own; a version is
installed into a folder of its own (.differences), which comes before the course's environment. What is found is stored beside
the page that shows it, so that a new release shows what has moved. Not a part of `make test`: it needs a network, and minutes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from installation import ROOT

TABLE = ROOT / "notebooks" / "00_since_when.json"
FOLDERS = ROOT / ".differences"
VERSIONS = {
    "keras": ("3.6.0", "3.9.2", "3.12.0", "3.14.0", "3.15.1"),
    "torch": ("2.6.0", "2.8.0", "2.10.0", "2.12.0", "2.13.0"),
}
BEGIN = {
    "keras": "import keras, numpy as np\nfrom keras import layers, ops\n",
    "torch": "import torch, warnings\nfrom torch import nn\nfrom torch.nn import functional as F\nwarnings.simplefilter('ignore')\n",
}
# What is asked, and a program that prints the answer as its last line.
ROWS = {
    "keras": {
        "epsilon of LayerNormalization": "print(layers.LayerNormalization().epsilon)",
        "keras.ops.gelu is the approximation": "print(bool(abs(float(ops.gelu(2.7)) - float(keras.activations.gelu(2.7))) > 1e-5))",
        "the first step of Adam for a gradient of 1e-8, with a rate of 1": (
            "weight = keras.Variable(0.0)\n"
            "keras.optimizers.Adam(1.0).apply([ops.convert_to_tensor(1e-8)], [weight])\n"
            "print(f'{-float(weight):.3f}')"
        ),
        "decay of AdamW": "print(keras.optimizers.AdamW().weight_decay)",
        "attention takes the mask off its input": (
            "x = layers.Embedding(5, 8, mask_zero=True)(np.array([[1, 2, 0]]))\n"
            "layers.MultiHeadAttention(2, 4)(x, x)\n"
            "print(getattr(x, '_keras_mask', None) is None)"
        ),
        "a query that may see nothing, weights not asked for": (
            "attention = layers.MultiHeadAttention(1, 8)\n"
            "mask = np.zeros((1, 4, 4), bool)\n"
            "x = np.random.default_rng(0).normal(size=(1, 4, 8)).astype('float32')\n"
            "asked, _ = attention(x, x, attention_mask=mask, return_attention_scores=True)\n"
            "same = np.allclose(ops.convert_to_numpy(attention(x, x, attention_mask=mask)), ops.convert_to_numpy(asked), atol=1e-5)\n"
            "print('as asked for' if same else 'something else')"
        ),
        "largest number of an attention's first kernel, 32 features in 2 heads": (
            "attention = layers.MultiHeadAttention(2, 16)\n"
            "attention.build((None, 4, 32), (None, 4, 32))\n"
            "print(f'{np.abs(attention.get_weights()[0]).max():.2f}')"
        ),
        "train_on_batch returns the mean of all batches so far": (
            "model = keras.Sequential([keras.Input((1,)), layers.Dense(1, use_bias=False)])\n"
            "model.compile(keras.optimizers.SGD(0.0), 'mse')\n"
            "model.set_weights([np.zeros((1, 1))])\n"
            "model.train_on_batch(np.ones((1, 1)), np.ones((1, 1)))\n"
            "print(float(model.train_on_batch(np.ones((1, 1)), np.full((1, 1), 3.0))) == 5)"
        ),
        "fit with a seed has one order in every epoch (TensorFlow)": (
            "keras.utils.set_random_seed(0)\n"
            "seen = []\n"
            "class Seen(layers.Layer):\n"
            "    def call(self, x):\n"
            "        seen.append(ops.convert_to_numpy(x)[:, 0].tolist())\n"
            "        return x\n"
            "model = keras.Sequential([keras.Input((1,)), Seen(), layers.Dense(1)])\n"
            "model.compile('sgd', 'mse', run_eagerly=True)\n"
            "x = np.arange(8.0)[:, None]\n"
            "model.fit(x, x, batch_size=4, epochs=2, verbose=0)\n"
            "print(seen[-4:-2] == seen[-2:])"
        ),
        "the reduction mean_with_sample_weight": (
            "try:\n"
            "    keras.losses.MeanSquaredError(reduction='mean_with_sample_weight')\n"
            "    print('there')\n"
            "except ValueError:\n"
            "    print('not there')"
        ),
        "ReversibleEmbedding": "print('there' if hasattr(layers, 'ReversibleEmbedding') else 'not there')",
        "lora_alpha of enable_lora": (
            "import inspect\nprint('lora_alpha' in inspect.signature(layers.Dense.enable_lora).parameters)"
        ),
        "the optimizer Muon": "print('there' if hasattr(keras.optimizers, 'Muon') else 'not there')",
    },
    "torch": {
        "decay of AdamW": "print(torch.optim.AdamW([torch.zeros(1)]).defaults['weight_decay'])",
        "blocks of a new nn.TransformerEncoder that differ": (
            "stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 3)\n"
            "print(len({each.linear1.weight.sum().item() for each in stack.layers}))"
        ),
        "a query that may see nothing, weights asked for": (
            "attention = nn.MultiheadAttention(8, 2, batch_first=True)\n"
            "x = torch.randn(1, 4, 8)\n"
            "y, _ = attention(x, x, x, attn_mask=torch.ones(4, 4, dtype=torch.bool))\n"
            "print('NaN' if y.isnan().any() else 'numbers')"
        ),
        "the same, weights not asked for": (
            "attention = nn.MultiheadAttention(8, 2, batch_first=True)\n"
            "x = torch.randn(1, 4, 8)\n"
            "y, _ = attention(x, x, x, attn_mask=torch.ones(4, 4, dtype=torch.bool), need_weights=False)\n"
            "print('NaN' if y.isnan().any() else 'numbers')"
        ),
        "is_causal without a mask, in a layer": (
            "layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)\n"
            "try:\n"
            "    layer(torch.randn(1, 4, 8), is_causal=True)\n"
            "    print('runs')\n"
            "except RuntimeError:\n"
            "    print('an error')"
        ),
        "a new nn.TransformerEncoderLayer drops": (
            "layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)\n"
            "x = torch.randn(1, 4, 8)\n"
            "print(not torch.equal(layer(x), layer(x)))"
        ),
        "torch.load runs code unless told not to": (
            "import inspect\nprint(inspect.signature(torch.load).parameters['weights_only'].default is False)"
        ),
        "mse_loss of a column and a row": "print(tuple(F.mse_loss(torch.zeros(3, 1), torch.zeros(3), reduction='none').shape))",
        "torch.optim.Muon": "print('there' if hasattr(torch.optim, 'Muon') else 'not there')",
        "nn.RMSNorm": "print('there' if hasattr(nn, 'RMSNorm') else 'not there')",
    },
}


def folder_of(library: str, version: str) -> Path:
    """Where a version is installed, and install it if it isn't there; PyTorch with what it needs, Keras alone."""
    folder = FOLDERS / f"{library}-{version}"
    if not folder.is_dir():
        alone = ["--no-deps"] if library == "keras" else []
        command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", *alone]
        part = folder.with_name(f"{folder.name}.part")
        subprocess.run([*command, "--target", str(part), f"{library}=={version}"], check=True)
        os.replace(part, folder)
    return folder


def answer(library: str, version: str, program: str) -> str:
    """The last line that a program prints with a version; an error ends the command, and is no answer."""
    path = os.pathsep.join(map(str, (folder_of(library, version), ROOT)))
    variables = os.environ | {"PYTHONPATH": path, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    checked = f"assert {library}.__version__.split('+')[0] == '{version}', {library}.__version__\n"
    code = BEGIN[library] + checked + program
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, check=False, capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        sys.exit(f"{library} {version}:\n{program}\n{done.stderr.strip()[-1000:]}")
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    found = {}
    for library, rows in ROWS.items():
        answers = {}
        for asked, program in rows.items():
            answers[asked] = [answer(library, version, program) for version in VERSIONS[library]]
            print(library, "|", asked, "|", *answers[asked], flush=True)
        found[library] = {"versions": VERSIONS[library], "answers": answers}
    TABLE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
