//! The preference page: authoring over the API, and the pages of recipients as a browser gets them.

mod authored;
mod authoring;
mod confirm;
mod fixture;
mod links;
mod page;
mod tampered;
mod unsubscribe;
