"""Keys of the HTTP service and sessions of the page."""
