"""The timeline: instants, their payloads, and the active timeline."""
