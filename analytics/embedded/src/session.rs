//! What a statement's session is told before the statement: its database, its settings, and the mark it can be killed by.

use crate::{fault::Fault, ffi::Connection, statement::quoted_text};

/// Everything of a request that the engine gets besides the statement's text.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) database: String,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) params: Vec<(String, String)>,
}

impl Session {
    /// Puts the mark of a statement among its settings and gives it back. A `log_comment` of the client stays, before the id.
    pub(crate) fn mark(&mut self, id: &str) -> String {
        let mark = match self.settings.iter().position(|(name, _)| name == "log_comment") {
            Some(at) => format!("{} ({id})", self.settings.remove(at).1),
            None => id.to_owned(),
        };
        self.settings.insert(0, ("log_comment".to_owned(), mark.clone()));
        mark
    }

    /// Tells a fresh connection. Names are checked where they come in, values are quoted here; the engine judges both.
    pub(crate) fn apply(&self, connection: &mut Connection) -> Result<(), Fault> {
        connection.use_database(&self.database)?;
        // `readonly` forbids further settings, so it comes last, alone.
        let (last, first): (Vec<_>, Vec<_>) =
            self.settings.iter().partition(|(name, _)| name == "readonly");
        for settings in [first, last] {
            if let Some(set) = set_of(&settings) {
                connection.query(set.as_bytes(), "Null", &[])?;
            }
        }
        Ok(())
    }
}

fn set_of(settings: &[&(String, String)]) -> Option<String> {
    let assignments: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name} = {}", quoted_text(value))).collect();
    (!assignments.is_empty()).then(|| format!("SET {}", assignments.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_quotes() {
        let settings = ("max_threads".to_owned(), "1', readonly = '0\\".to_owned());
        assert_eq!(set_of(&[&settings]).unwrap(), r"SET max_threads = '1\', readonly = \'0\\'");
        assert_eq!(set_of(&[]), None);
    }

    #[test]
    fn the_mark_keeps_the_clients_comment() {
        let mut session = Session {
            database: "d".into(),
            settings: vec![("log_comment".into(), "mine".into())],
            params: Vec::new(),
        };
        assert_eq!(session.mark("id1"), "mine (id1)");
        assert_eq!(session.settings, [("log_comment".to_owned(), "mine (id1)".to_owned())]);
    }
}
