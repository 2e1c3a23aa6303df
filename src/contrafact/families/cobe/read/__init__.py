"""Reading what a text tells: by the grammar of its file, or by a language model, the reader."""
