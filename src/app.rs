//! What a running server holds, and how it is put together.
