"""The studio's pages: rendered on the server, usable without JavaScript, and faster with it."""
