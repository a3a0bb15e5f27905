"""XML documents of three makers, parsed once, safe from external and nested entities."""

from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import Element

from ecg_records.errors import Reason, RecordError
from ecg_records.readers.clinical import aecg, muse, philips
from ecg_records.readers.clinical.waveform import Format, Waveform
from ecg_records.stretch import WHOLE, WIDEN, WIDER, Stretch, refuse_large

MOST_TAGS = round(200_000 * WIDER)
"""Of a document; each costs a hundred bytes of memory, and a waveform needs a few thousand."""
_KINDS: dict[str, Callable[[Element], Waveform]] = {
    module.ROOT: module.waveform for module in (aecg, muse, philips)
}


def waveform(file: Path, stretch: Stretch = WHOLE) -> Waveform:
    """Read an XML document of any of the three makers. Raises `RecordError`, or what the parser raises."""
    from defusedxml.ElementTree import fromstring  # noqa: PLC0415 — of an extra

    refuse_large(file)
    content = file.read_bytes()
    if content.count(b"<") > MOST_TAGS:
        raise RecordError(Reason.too_long, f"has more than {MOST_TAGS:,} tags; {WIDEN}")
    root: Element = fromstring(content)
    name = root.tag.rpartition("}")[2]
    if name not in _KINDS:
        problem = f"is XML of the kind {name[:40]!r}: HL7 aECG, GE MUSE and Philips are read, export as one"
        raise RecordError(Reason.signal_format, problem)
    return _KINDS[name](root)


XML = Format("XML", ("*.xml",), waveform)
