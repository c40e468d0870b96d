"""The reference of the HTTP API: one text, as docs/reference/http.md and as the page `/docs`."""
