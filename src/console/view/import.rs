//! Importing a file by a script, which sends it piece by piece and shows how far it is.

use maud::{Markup, html};

use crate::assets;

/// The script of an import. The form has the id `import`, the field `file`, and what is imported as `data-import`.
pub fn import_script() -> Markup {
    html! { script type="module" src=(assets::url("import.js")) {} }
}

/// The buttons at the end of the form.
pub fn import_buttons() -> Markup {
    html! {
        div class="actions" {
            button class="button primary" type="submit" { "Import" }
            button class="button" type="button" id="import-stop" hidden { "Stop" }
        }
    }
}

/// How far the import is, hidden until it begins.
pub fn import_state() -> Markup {
    html! {
        section class="card" id="import-state" hidden {
            h2 { "Import" }
            progress id="import-progress" max="1" value="0" aria-label="Part of the file that was sent" {}
            p id="import-counts" role="status" {}
            ul id="import-reasons" {}
        }
    }
}
