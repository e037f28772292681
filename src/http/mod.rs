//! Accept loop, layers, the one error envelope, body and query readers, pages, OpenAPI, health.
