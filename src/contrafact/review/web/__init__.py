"""The studio's pages: server-rendered, usable without JavaScript, quick with it."""
