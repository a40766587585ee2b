"""What the flights demo needs beside its DAG: the data, the check of the result, the runner and the picture."""
