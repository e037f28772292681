//! `GET /events/export` and `GET /users/export`, and the commands `export` and `import`.

mod bad_input;
mod broken_off;
mod commands;
pub(crate) mod fixture;
mod formats;
mod journals;
mod people;
mod people_export;
mod rows;
