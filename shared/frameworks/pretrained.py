"""Published models, and the one that comes with the course: directories as Hugging Face's `save_pretrained` writes them.

In the folder `hugging_face`: the files in `files.py`, the settings in `settings.py`, and what the names of the weights are here
and there in `bert.py`, `gpt2.py` and, of nine families of decoders, `decoders.py`.
"""

from pathlib import Path

from shared.files import write_whole
from shared.folders import course_folder
from shared.frameworks.hugging_face.bert import bert_arguments, bert_weights, read_bert, write_bert
from shared.frameworks.hugging_face.decoders import decoder_tokenizer, decoder_weights, end_ids, read_decoder
from shared.frameworks.hugging_face.files import read_json, read_pretrained, read_tokenizer
from shared.frameworks.hugging_face.gpt2 import gpt2_weights, write_gpt2
from shared.frameworks.hugging_face.settings import require, setting

__all__ = [
    "bert_arguments",
    "bert_weights",
    "decoder_tokenizer",
    "decoder_weights",
    "end_ids",
    "gpt2_weights",
    "read_bert",
    "read_decoder",
    "read_json",
    "read_pretrained",
    "read_tokenizer",
    "require",
    "setting",
    "shipped",
    "write_bert",
    "write_gpt2",
    "write_whole",
]


def shipped() -> Path:
    """The folder of the course's own model of real English, which chapter 15 trains; `make pretrain` writes another.

    Raises:
        FileNotFoundError: if it is not there, because the package was installed without the course.
    """
    folder = course_folder() / "models" / "docstring_gpt"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no {folder}: the model comes with the course's folder; start there, or let THREE_WAYS_FOLDER name it"
        )
    return folder
