//! Channels: what there is to know of them here, which is not much yet.

use axum::response::Response;
use http::StatusCode;
use maud::html;

use super::Tab;
use crate::{view, visitor::Visitor};

pub(super) async fn show(visitor: Visitor) -> Response {
    let content = view::card(
        "Channels",
        &html! {
            p {
                "Channels and their providers belong to the server: they are in its settings file, a section "
                code { "[channels.NAME]" } " each. There is no API that reads or changes them yet, so this page "
                "cannot."
            }
            p { "On the machine of the server, this checks them, credentials included:" }
            (view::copyable("millrace doctor"))
            p { "A test message goes out by " code { "POST /campaigns/:id/send-test-email" } " and its like." }
        },
    );
    Tab::Channels.page(&visitor, StatusCode::OK, &content)
}
