"""Pairs of an ancestor and its descendant in files: CSV and FASTA."""

import contextlib
import csv
import io
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator

import pandas as pd

from shared.data.mutation.tokens import to_tokens
from shared.files import check_path, write_whole


def _check_pairs(ancestors: list[str], descendants: list[str], where: Callable[[int], str]) -> pd.DataFrame:
    """The table of the pairs, in upper case, after a check of each; an error begins with `where` its pair stands."""
    for index, (ancestor, descendant) in enumerate(zip(ancestors, descendants, strict=True)):
        for name, sequence in (("ancestor", ancestor), ("descendant", descendant)):
            if not isinstance(sequence, str):
                raise TypeError(
                    f"{where(index)}: {name}={sequence!r}: expected a string, got {type(sequence).__name__}"
                )
            if not sequence:
                raise ValueError(f"{where(index)}: the {name} is empty")
    to_tokens(
        [sequence for pair in zip(ancestors, descendants, strict=True) for sequence in pair],
        lambda index: where(index // 2),
    )
    for index, (ancestor, descendant) in enumerate(zip(ancestors, descendants, strict=True)):
        if len(ancestor) != len(descendant):
            raise ValueError(
                f"{where(index)}: the ancestor has {len(ancestor)} sites, the descendant {len(descendant)}; expected as many"
            )
    return pd.DataFrame(
        {"ancestor": [a.upper() for a in ancestors], "descendant": [d.upper() for d in descendants]}, dtype="str"
    )


def _check_columns(columns: Iterable[str], name: str) -> None:
    columns = list(columns)
    missing = [column for column in ("ancestor", "descendant") if column not in columns]
    if missing:
        raise ValueError(
            f"{name} has no column {' and no column '.join(missing)}; found: {', '.join(map(str, columns)) or 'none'}"
        )
    for column in ("ancestor", "descendant"):
        if columns.count(column) > 1:
            raise ValueError(f"{name} has {columns.count(column)} columns {column}: expected one")


def write_csv(table: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write pairs as a CSV file with the columns ancestor and descendant, whole or not at all.

    Args:
        table: the two columns, of strings; others are not written.
        path: the file; an older one is replaced once the new one is complete.

    Raises:
        TypeError: if table is not a pandas.DataFrame, or a sequence is not a string.
        ValueError: if one of the two columns is missing or there twice, or a pair would be refused by `read_csv`; the message counts the
            table's rows from 0.
        OSError: if the file cannot be written.
    """
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table is a {type(table).__name__}: expected a pandas.DataFrame")
    _check_columns(table.columns, "table")
    if table.empty:
        raise ValueError("table has no rows: expected at least one pair")
    pairs = _check_pairs(list(table["ancestor"]), list(table["descendant"]), lambda index: f"row {index} of table")
    text = io.StringIO()
    pairs.to_csv(text, index=False, lineterminator="\n")
    write_whole(path, text.getvalue())


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    """Let csv read fields of any length; its limit, 131 072 letters at first, is global and is set back afterwards."""
    limit = csv.field_size_limit(2**31 - 1)  # the most that a C long holds on every machine
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def read_csv(path: str | os.PathLike) -> pd.DataFrame:
    """Read pairs from a CSV file with the columns ancestor and descendant, in any order and among any others.

    Args:
        path: the file. Lower case is turned into upper case, blank lines are skipped, and so is space around a sequence.

    Returns:
        A table with the string columns ancestor and descendant.

    Raises:
        ValueError: if one of the two columns is missing or there twice, there is no pair, a sequence is empty or holds something else than
            A, C, G, T, R, or the two sequences of a pair differ in length; the message counts lines from 1, as a text editor does.
        OSError: if the file cannot be read.
    """
    check_path(path=path)
    name = pathlib.Path(path).name
    columns, rows = {"ancestor": [], "descendant": []}, []
    with _long_fields(), open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            filled = (fields for fields in reader if any(field.strip() for field in fields))
            header = [column.strip() for column in next(filled, [])]
            if not header:
                raise ValueError(f"{name} is empty: expected a first row with the columns ancestor and descendant")
            _check_columns(header, name)
            indices = {column: header.index(column) for column in columns}
            for fields in filled:
                if len(fields) != len(header):
                    raise ValueError(
                        f"row {reader.line_num} of {name}: {len(fields)} fields; expected {len(header)}, as in the header"
                    )
                rows.append(reader.line_num)
                for column, index in indices.items():
                    columns[column].append(fields[index].strip())
        except csv.Error as error:
            raise ValueError(f"row {reader.line_num} of {name}: not valid CSV: {error}") from error
    if not rows:
        raise ValueError(f"{name} has no pairs: expected rows below the header")
    return _check_pairs(columns["ancestor"], columns["descendant"], lambda index: f"row {rows[index]} of {name}")


def read_fasta(path: str | os.PathLike) -> pd.DataFrame:
    """Read pairs from a FASTA file whose records alternate: an ancestor, its descendant, the next ancestor, and so on.

    Args:
        path: the file. A sequence may take several lines; lower case is turned into upper case; what stands behind ">" is not used.

    Returns:
        A table with the string columns ancestor and descendant.

    Raises:
        ValueError: if text comes before the first ">", there is no record or an odd number of them, a record is empty or holds something else than A, C, G,
            T, R, or the two sequences of a pair differ in length; the message counts lines from 1, and a pair stands at its ancestor's line.
        OSError: if the file cannot be read.
    """
    check_path(path=path)
    name = pathlib.Path(path).name
    starts, records, lines, line_numbers = [], [], [], []
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(map(str.strip, file), start=1):
            if line.startswith(">"):
                starts.append(number)
                records.append([])
            elif line and not records:
                raise ValueError(
                    f"line {number} of {name}: {line[:20]!r} comes before the first record; expected a line that begins with '>'"
                )
            elif line:
                records[-1].append(line)
                lines.append(line)
                line_numbers.append(number)
    if not records:
        raise ValueError(f"{name} is empty: expected records that begin with '>'")
    for start, record in zip(starts, records, strict=True):
        if not record:
            raise ValueError(f"line {start} of {name}: the record is empty")
    to_tokens(lines, lambda index: f"line {line_numbers[index]} of {name}")
    if len(records) % 2:
        raise ValueError(f"{name} has {len(records)} records: expected pairs, an ancestor and then its descendant")
    sequences = ["".join(record) for record in records]
    return _check_pairs(sequences[::2], sequences[1::2], lambda index: f"line {starts[2 * index]} of {name}")
