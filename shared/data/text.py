"""Real English: the prose of the docstrings of your installed packages, as paragraphs; and, handed on from `subwords`, tokenizers for it.

    paragraphs = docstrings(("numpy", "scipy"))     # or docstrings(file="my.txt")
    print(about(("numpy", "scipy")))                # how many, and whether they are those that the course was written with

The `.py` files are read and parsed, never imported or run. Nothing is downloaded, and the course ships nothing of the text: it is
on the disk of everyone who has installed the course. What was found is kept in the folder `.paragraphs`, which git ignores, until
a file of the package changes.
"""

import ast
import functools
import gc
import hashlib
import importlib.metadata
import inspect
import json
import re
import sys
import warnings
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

from shared.checks.text import check_texts
from shared.data.subwords import BERT_SPECIALS, encode_batch, train_tokenizer
from shared.data.vocabularies import GPT_SPECIALS, PAD_ID
from shared.files import check_path, write_whole
from shared.folders import course_folder

__all__ = [
    "BERT_SPECIALS",
    "GPT_SPECIALS",
    "INSTALLED_AS",
    "PACKAGES",
    "PAD_ID",
    "RECORDS",
    "Paragraph",
    "Record",
    "Summary",
    "about",
    "docstrings",
    "encode_batch",
    "is_recorded",
    "record",
    "summaries",
    "train_tokenizer",
]


class Paragraph(NamedTuple):
    """A paragraph of prose on one line, and where it comes from; copies of a paragraph are left out, so it is where it came first."""

    text: str
    package: str
    module: str


class Summary(NamedTuple):
    """What a public function or class does, in the first sentence of its docstring."""

    name: str
    sentence: str
    package: str
    module: str


class Record(NamedTuple):
    """What the course was written with."""

    version: str
    paragraphs: int
    digest: str


# Package -> what its paragraphs were; `about` compares. The name to install scikit-learn by is not the one to import it by.
RECORDS = {
    "numpy": Record("2.4.6", 2975, "a486ee4c962ffd6e"),
    "scipy": Record("1.17.1", 8070, "d2eb9c91c28c8691"),
    "sklearn": Record("1.9.1", 5241, "ebc85f29f458a37e"),
    "pandas": Record("3.1.1", 5974, "ead4ffbac812ac81"),
    "matplotlib": Record("3.11.2", 3327, "f01b0310d7a35af6"),
    "keras": Record("3.15.1", 2616, "559f55e9eac31ab5"),
    "torch": Record("2.13.0", 9850, "3a7e2ab5e092ac22"),
    "tensorflow": Record("2.21.0", 14496, "ea3cf5fb620d4fd7"),
    "networkx": Record("3.6.1", 3703, "968810987365d877"),
    "sympy": Record("1.14.0", 8422, "503ec01e9b3f6b17"),
}
PACKAGES = tuple(RECORDS)
INSTALLED_AS = {"sklearn": "scikit-learn"}
# Tests say little in prose; the rest is generated when a package is built, or differs between builds, systems and Pythons.
SKIPPED_FOLDERS = {"test", "tests", "testing", "_api", "include", "distutils"}
SKIPPED_FILES = {"version.py", "_version.py", "__config__.py", "_distributor_init.py", "setup.py", "conftest.py"}
PARAGRAPHS_A_PART = 10  # of a reader's own file, which has no modules

_ROLE = re.compile(r":[a-z:]+:`[~!]?([^`<>]*)`")  # :func:`~scipy.linalg.solve` is written scipy.linalg.solve
_WORD = re.compile(r"[A-Za-z][a-z]*(?:['’-][A-Za-z]+)*")
_SENTENCES = re.compile(r"[A-Z][^<>{}\[\]|\\=_*#@$^~`]*[.!?]")
_SUMMARY = re.compile(r"([A-Z][^.<>{}\[\]|\\=_*#@$^~:]{15,110}\.)(\s|$)")  # a first sentence, of plain words
_HEADING = re.compile(r"^.*\n\s*[-=~]{3,}\s*$", re.MULTILINE)  # such as Notes, underlined


def _prose(docstring: str) -> Iterable[str]:
    """The paragraphs of a docstring that are plain sentences, each on one line."""
    for block in re.split(r"\n\s*\n", _HEADING.sub("\n", docstring)):
        lines = block.splitlines()
        # Where the indentation changes, something else begins: the description of an argument below its name, say.
        indents = [len(line) - len(line.lstrip()) for line in lines]
        starts = [i for i in range(len(lines)) if i == 0 or indents[i] != indents[i - 1]]
        for start, end in zip(starts, [*starts[1:], len(lines)]):
            text = " ".join(" ".join(lines[start:end]).split())
            text = _ROLE.sub(r"\1", text).replace("``", "").replace("`", "")
            if len(text) >= 40 and text.isascii() and _SENTENCES.fullmatch(text):
                words = text.split()
                plain = sum(_WORD.fullmatch(word.strip(".,;:!?()\"'")) is not None for word in words)
                if plain >= 0.8 * len(words) and not any(sign in text for sign in ("...", "--", "//", "::")):
                    yield text


def _summary(docstring: str) -> str | None:
    """The first sentence of a docstring on one line; None if it's short, long, or more than plain words."""
    first = " ".join(re.split(r"\n\s*\n", docstring)[0].split())
    found = _SUMMARY.match(_ROLE.sub(r"\1", first).replace("``", "").replace("`", ""))
    return found[1] if found and found[1].isascii() else None


def _docstrings_of(source: bytes) -> Iterable[tuple[str, str]]:
    """The names and docstrings of a module and of what it defines, in the order of the file; the module's own name is empty."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes in other people's strings
        try:
            nodes = [ast.parse(source)]
        except (SyntaxError, ValueError):  # a template, or for another Python
            return
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found = ast.get_docstring(node, clean=False)
            if found:
                yield getattr(node, "name", ""), inspect.cleandoc(found)
            nodes += reversed(node.body)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            nodes += reversed(node.body)


class _Found(NamedTuple):
    paragraphs: tuple[Paragraph, ...]
    summaries: tuple[Summary, ...]


@functools.cache
def _of_package(package: str) -> _Found:
    """The paragraphs and summaries of a package, each once, in the order of the names of its files."""
    spec = PathFinder.find_spec(package)  # finds the folder, and imports nothing
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"packages: {package!r} is not installed here; expected some of {', '.join(PACKAGES)}")
    folder = Path(next(iter(spec.submodule_search_locations)))
    paths = sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).parts)
    kept = _cache() / f"{package}-{_fingerprint(paths)}.json"
    found = _read_kept(kept)
    if found is None:
        found = _parse(package, folder, paths)
        _keep(found, kept, package)
    return _Found(
        tuple(Paragraph(text, package, module) for text, module in found["paragraphs"].items()),
        tuple(Summary(name, sentence, package, module) for name, (sentence, module) in found["summaries"].items()),
    )


def _cache() -> Path:
    """The folder in which what was parsed is kept for the next time."""
    return course_folder() / ".paragraphs"


def _fingerprint(paths: list[Path]) -> str:
    """What changes when one of these files, Python or this module does."""
    seen = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in [*paths, Path(__file__)]]
    return hashlib.sha256(repr((sys.version, seen)).encode()).hexdigest()[:16]


def _read_kept(kept: Path) -> dict[str, dict] | None:
    """What `_parse` returned and `_keep` wrote; None if there is no such file, or it is damaged."""
    try:
        found = json.loads(kept.read_text("utf-8"))
        modules, summaries = found["paragraphs"].values(), found["summaries"].values()
        whole = all(isinstance(module, str) for module in modules)
        whole = whole and all([type(each) for each in summary] == [str, str] for summary in summaries)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return found if whole else None


def _keep(found: dict[str, dict], kept: Path, package: str) -> None:
    try:
        kept.parent.mkdir(exist_ok=True)
        for old in kept.parent.glob(f"{package}-*.json"):
            old.unlink(missing_ok=True)
        write_whole(kept, json.dumps(found))
    except OSError:  # a read-only copy of the course parses each time; so does a process beside one that keeps the same
        pass


def _parse(package: str, folder: Path, paths: list[Path]) -> dict[str, dict]:
    """Of paragraphs text -> module, each text once; of summaries name -> sentence and module, each name once."""
    collecting = gc.isenabled()
    gc.disable()  # a syntax tree has no cycles, and looking for them takes a quarter of the time
    try:
        return _parse_all(package, folder, paths)
    finally:
        if collecting:
            gc.enable()


def _parse_all(package: str, folder: Path, paths: list[Path]) -> dict[str, dict]:
    paragraphs, summaries = {}, {}
    for path in paths:
        *folders, name = path.relative_to(folder).parts
        if name in SKIPPED_FILES or not SKIPPED_FOLDERS.isdisjoint(folders):
            continue
        source = path.read_bytes()
        if source.count(b'"""') < 2:  # parsing takes the time
            continue
        module = ".".join([package, *folders, name.removesuffix(".py")]).removesuffix(".__init__")
        for name, docstring in _docstrings_of(source):
            for text in _prose(docstring):
                paragraphs.setdefault(text, module)
            sentence = _summary(docstring) if name and not name.startswith("_") else None
            if sentence:
                summaries.setdefault(name, (sentence, module))
    return {"paragraphs": paragraphs, "summaries": summaries}


def _of_file(file: str | Path) -> list[Paragraph]:
    """The paragraphs of a reader's own text, which empty lines separate; each on one line, each once."""
    path = Path(file)
    if not path.is_file():
        raise ValueError(f"file={str(file)!r}: there is no such file")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"file={str(file)!r}: expected text in UTF-8; byte {error.start} is not") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # as Windows and old Macs end a line
    found = dict.fromkeys(" ".join(block.split()) for block in re.split(r"\n\s*\n", text))
    found.pop("", None)
    if not found:
        raise ValueError(f"file={str(file)!r}: expected text, the file is empty")
    parts = [f"{path.stem}.part{i // PARAGRAPHS_A_PART}" for i in range(len(found))]
    return [Paragraph(text, path.stem, part) for text, part in zip(found, parts)]


def docstrings(packages: Iterable[str] = PACKAGES, file: str | Path | None = None) -> list[Paragraph]:
    """Paragraphs of plain English sentences from the docstrings of installed packages.

    Each paragraph comes once, on one line, with its package and module, in an order that depends on nothing but the
    packages' files. The very first call parses them: a second or two for a small package, most of a minute for all.

    Args:
        packages: names to import packages by, such as ("numpy", "scipy").
        file: a text of your own instead, in UTF-8, with empty lines between its paragraphs; its modules are parts of 10 paragraphs.

    Raises:
        TypeError: if packages is not a list of names, or file no path.
        ValueError: if there is no package, one is not installed, or file is missing, empty or not in UTF-8.
    """
    if file is not None:
        check_path(file=file)
        return _of_file(file)
    found = {}
    for package in check_texts(packages=packages):
        for paragraph in _of_package(package).paragraphs:
            found.setdefault(paragraph.text, paragraph)
    return list(found.values())


def summaries(packages: Iterable[str] = PACKAGES) -> list[Summary]:
    """What the functions and classes of installed packages do: the first sentences of their docstrings, of plain words.

    Names that begin with an underscore are left out, and of one name in a package all but the first.

    Raises:
        TypeError: if packages is not a list of names.
        ValueError: if there is no package, or one is not installed.
    """
    return [each for package in check_texts(packages=packages) for each in _of_package(package).summaries]


def record(package: str) -> Record:
    """The version of an installed package, and how many paragraphs it has and their digest."""
    paragraphs = _of_package(package).paragraphs
    lines = "".join(f"{module}\t{text}\n" for text, _, module in paragraphs)
    version = importlib.metadata.version(INSTALLED_AS.get(package, package)).partition("+")[0]
    return Record(version, len(paragraphs), hashlib.sha256(lines.encode()).hexdigest()[:16])


def is_recorded(packages: Iterable[str] = PACKAGES) -> bool:
    """Whether the paragraphs of these packages are, letter for letter, those that the course was written with."""
    return all(record(package)[1:] == RECORDS.get(package, Record("", 0, ""))[1:] for package in packages)


def about(packages: Iterable[str] = PACKAGES) -> str:
    """A line for each package: its paragraphs, and, if they differ from the course's, that figures will differ too."""
    lines = []
    for package in check_texts(packages=packages):
        here, recorded = record(package), RECORDS.get(package)
        line = f"{package} {here.version}: {here.paragraphs:,} paragraphs"
        if recorded is None:
            lines.append(f"{line}, not among the course's packages: figures here are yours alone")
        elif here[1:] == recorded[1:]:
            lines.append(f"{line}, as recorded")
        else:
            lines.append(
                f"{line}, not the {recorded.paragraphs:,} of version {recorded.version} that the course was written "
                "with: figures here differ a little from those in the text"
            )
    return "\n".join(lines)
