"""Lock, heartbeat, markers, conflict check, begin and publish."""
