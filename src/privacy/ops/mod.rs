//! Making requests, working on them, and answering what became of them.

mod erasure;
mod events;
mod export;
mod files;
mod requests;
mod worker;

pub use self::{
    export::Download,
    files::watch_files,
    requests::{create, download, get, list},
    worker::watch,
};
