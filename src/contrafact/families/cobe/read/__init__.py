"""Reading of responses: by the grammar of the stories' file, or by a language model, the reader."""
