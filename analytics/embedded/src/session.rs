//! State of a statement's session: its database, its settings, its role, and the mark by which it can be killed.

use crate::{
    fault::Fault,
    ffi::Connection,
    statement::{quoted_name, quoted_text},
};

/// A setting of the engine, unquoted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Everything of a request that the engine gets besides the statement's text.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) database: String,
    /// The one role whose rights the statement has; none: all roles of the user.
    pub(crate) role: Option<String>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) params: Vec<(String, String)>,
}

impl Session {
    /// The setting that marks a statement.
    pub(crate) const MARK: &str = "log_comment";

    /// Puts the mark of a statement among its settings and gives it back. A `log_comment` of the client stays, before the id.
    pub(crate) fn mark(&mut self, id: &str) -> String {
        let mark = match self.settings.iter().position(|it| it.name == Self::MARK) {
            Some(at) => format!("{} ({id})", self.settings.remove(at).value),
            None => id.to_owned(),
        };
        self.settings.insert(0, Setting { name: Self::MARK.to_owned(), value: mark.clone() });
        mark
    }

    /// Sets up a fresh connection. Names are checked where they come in, values are quoted here; the engine validates both.
    pub(crate) fn apply(&self, connection: &mut Connection) -> Result<(), Fault> {
        connection.use_database(&self.database)?;
        // `readonly` forbids further settings, so it comes last, alone.
        let (last, first): (Vec<_>, Vec<_>) =
            self.settings.iter().partition(|it| it.name == "readonly");
        let role = self.role.as_ref().map(|role| format!("SET ROLE {}", quoted_name(role)));
        for set in [set_of(&first), role, set_of(&last)].into_iter().flatten() {
            connection.query(set.as_bytes(), "Null", &[])?;
        }
        Ok(())
    }
}

fn set_of(settings: &[&Setting]) -> Option<String> {
    let assignments: Vec<String> =
        settings.iter().map(|it| format!("{} = {}", it.name, quoted_text(&it.value))).collect();
    (!assignments.is_empty()).then(|| format!("SET {}", assignments.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_quotes() {
        let setting =
            Setting { name: "max_threads".to_owned(), value: "1', readonly = '0\\".to_owned() };
        assert_eq!(set_of(&[&setting]).unwrap(), r"SET max_threads = '1\', readonly = \'0\\'");
        assert_eq!(set_of(&[]), None);
    }

    #[test]
    fn the_mark_keeps_the_clients_comment() {
        let mut session = Session {
            database: "d".into(),
            role: None,
            settings: vec![Setting { name: "log_comment".into(), value: "mine".into() }],
            params: Vec::new(),
        };
        assert_eq!(session.mark("id1"), "mine (id1)");
        let marked = Setting { name: "log_comment".to_owned(), value: "mine (id1)".to_owned() };
        assert_eq!(session.settings, [marked]);
    }
}
