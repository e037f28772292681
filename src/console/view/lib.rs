//! The design system: the frame of every page, and the components that pages are made of.
//!
//! A component is a function that returns [`Markup`](maud::Markup); all texts are escaped. The style sheet is
//! `assets/files/console.css`.

pub mod assets;
mod button;
mod card;
mod channel;
mod chart;
mod diff;
mod forest;
mod form;
mod frame;
mod import;
mod names;
mod nav;
mod numbers;
mod shell;
mod table;
mod tabs;
mod time;
mod timeline;

pub use self::{
    button::{Confirmation, button_link, confirm_by_name},
    card::{
        Tone, alert, badge, card, copyable, dialog, empty, facts, figure, json, later, skeleton,
    },
    channel::channel_label,
    chart::{Chart, Series, Sources, Unit, chart, sources, without_sql},
    diff::diff,
    forest::{Effect, forest},
    form::{
        Choice, Fault, Field, Kind, check, choices, code_editor, fault_summary, faults, field,
        hidden, offers, select, select_of,
    },
    frame::{Frame, bare_page, page, part},
    import::{import_buttons, import_script, import_state},
    names::{confirmable, is_same_name},
    nav::Entry,
    numbers::{bytes, count, decimal, duration, percent},
    shell::shell_quoted,
    table::{Column, pager, table},
    tabs::{Tab, tabs},
    time::{ago, complete_from, event_time, exact},
    timeline::{Moment, timeline},
};

/// The address of the console.
pub const HOME: &str = "/console";
/// The address that signs out.
pub const SIGN_OUT: &str = "/console/logout";
