"""The journal: the durable, ordered log that every acknowledged request is in (one writer process, any readers)."""

from trailhound.collector.journal.cursor import Cursor, load_cursor, save_cursor
from trailhound.collector.journal.reader import BEGIN, Block, JournalReader, Position
from trailhound.collector.journal.writer import JournalWriter

__all__ = ["BEGIN", "Block", "Cursor", "JournalReader", "JournalWriter", "Position", "load_cursor", "save_cursor"]
