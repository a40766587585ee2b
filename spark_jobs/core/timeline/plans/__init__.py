"""Plans on the timeline as values: decoded and encoded here, in the shape of Hudi's records, and nowhere else."""
