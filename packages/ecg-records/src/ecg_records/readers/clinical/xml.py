"""Read XML documents of HL7 aECG, GE MUSE and Philips, without expanding external or nested entities."""

from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import Element

from ecg_records.errors import Reason, RecordError
from ecg_records.readers.clinical import aecg, muse, philips
from ecg_records.readers.clinical.waveform import Format, Waveform
from ecg_records.stretch import WHOLE, WIDEN, WIDER, Stretch, refuse_large

MOST_TAGS = round(200_000 * WIDER)
"""Maximum number of tags in a document. A tag takes a hundred bytes of memory. A waveform has a few thousand
tags."""
_READERS: dict[str, Callable[[Element], Waveform]] = {
    module.ROOT: module.waveform for module in (aecg, muse, philips)
}


def waveform(file: Path, stretch: Stretch = WHOLE) -> Waveform:
    """Read the complete XML document of HL7 aECG, GE MUSE or Philips, whatever the stretch.

    Raises `RecordError`, or any error of the XML parser.
    """
    from defusedxml.ElementTree import fromstring  # noqa: PLC0415 — optional

    refuse_large(file)
    content = file.read_bytes()
    tags = content.count(b"<")
    if tags > MOST_TAGS:
        problem = f"must have at most {MOST_TAGS:,} tags, got {tags:,}; {WIDEN}"
        raise RecordError(Reason.too_long, problem)
    root: Element = fromstring(content)
    name = root.tag.rpartition("}")[2]
    if name not in _READERS:
        problem = f"must be XML of HL7 aECG, GE MUSE or Philips, got {name[:40]!r}: export such a format"
        raise RecordError(Reason.signal_format, problem)
    return _READERS[name](root)


XML = Format("XML", ("*.xml",), waveform)
