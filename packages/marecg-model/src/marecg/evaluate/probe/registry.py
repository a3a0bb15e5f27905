"""Every protocol by the name that `marecg probe --protocol` takes."""

from marecg.base.plugins import named
from marecg.evaluate.probe.merl import MERL, MERL_POSITIONAL
from marecg.evaluate.probe.protocol import Protocol
from marecg.evaluate.probe.strict import STRICT

PROTOCOLS = {protocol.name: protocol for protocol in (STRICT, MERL, MERL_POSITIONAL)}


def protocol_named(name: str) -> Protocol:
    """The protocol of that name, or `FILE.py:NAME`. Raises `UsageError` where there is none."""
    return named(name, PROTOCOLS, Protocol, "protocol")
