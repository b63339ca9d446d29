"""Language-aware, model-free handling of text: words, names, sentences, index terms."""
