"""The API of documents and of what was found in them."""
