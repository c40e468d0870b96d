"""Chats: exports of ChatGPT and Claude, sessions of Claude Code and Codex, messages, and transcripts."""

from pgrecall.importers.chat.reader import read_chats, read_transcript
from pgrecall.importers.chat.turns import role_of

__all__ = ["read_chats", "read_transcript", "role_of"]
