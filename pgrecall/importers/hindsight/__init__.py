"""Exports of Hindsight."""
