//! `GET /events/export`, and the commands `export` and `import`.

mod bad_input;
mod broken_off;
mod commands;
mod fixture;
mod formats;
mod journals;
mod rows;
