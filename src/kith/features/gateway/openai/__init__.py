"""OpenAI's chat protocol from the side of the server: requests read, replies told, errors in its shape."""
