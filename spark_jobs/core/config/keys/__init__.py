"""The declaration of each key, in the module that the key's prefix names."""
