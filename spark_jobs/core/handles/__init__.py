"""Create, merge, append: batches in; a file, its marker and its write stat out."""
