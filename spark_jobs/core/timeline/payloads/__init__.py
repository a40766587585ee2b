"""What stands in the files of instants: records by Hudi's names of their fields, and the forms that table
versions give them."""
