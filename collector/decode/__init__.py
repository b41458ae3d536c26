"""Station 3: OTLP request bodies -> spans and log records, and the receiver's check of a body."""

from trailhound.collector.decode.otlp import Decoded, Received, decode_logs, decode_traces
from trailhound.collector.decode.otlp_json import json_to_protobuf
from trailhound.collector.decode.request import Admission, admit

__all__ = ["Admission", "Decoded", "Received", "admit", "decode_logs", "decode_traces", "json_to_protobuf"]
