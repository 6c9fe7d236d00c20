"""A doctor for ports: where two models that should be one function part, and by which convention.

- `where_they_part(reference, port, *inputs)`: the places, each in a sentence.
- `randomize(model)`: random numbers in every weight, because zeros and ones hide mistakes.
- `trace(model, *inputs)`: what its layers read and returned, for those who want to look themselves.
"""

from shared.conformance.doctor.parting import Diagnosis, Parting, where_they_part
from shared.conformance.doctor.tracing import Call, Trace, randomize, trace

__all__ = ["Call", "Diagnosis", "Parting", "Trace", "randomize", "trace", "where_they_part"]
