"""Where a key can be: pure logic from keys, footers and names (Hudi: org.apache.hudi.index)."""
