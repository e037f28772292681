//! The results of checks, and how they are printed.

use serde::Serialize;
use serde_json::json;

use super::super::output;

/// How severe a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Ok,
    /// The server runs, with less than it could have.
    Warning,
    /// The server does not start, loses something, or does not do a part of its work.
    Wrong,
}

impl Status {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Wrong => "wrong",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    /// What was checked, the same in every run.
    pub(super) check: &'static str,
    pub(super) status: Status,
    pub(super) what: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) action: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, status: Status::Ok, what: what.into(), action: None }
    }

    pub(super) fn warning(
        check: &'static str,
        what: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self { status: Status::Warning, action: Some(action.into()), ..Self::ok(check, what) }
    }

    pub(super) fn wrong(
        check: &'static str,
        what: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self { status: Status::Wrong, action: Some(action.into()), ..Self::ok(check, what) }
    }

    /// One line: the status, what was found, what to do.
    fn line(&self) -> String {
        let head = format!("{:<7}  {}: {}", self.status.as_str(), self.check, one_line(&self.what));
        match &self.action {
            Some(action) => format!("{head}  {}", one_line(action)),
            None => head,
        }
    }
}

/// Errors of libraries may have several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many findings have a status.
pub(super) fn count(findings: &[Finding], status: Status) -> usize {
    findings.iter().filter(|finding| finding.status == status).count()
}

/// Prints all findings, the order of the checks kept.
pub(super) fn print(findings: &[Finding], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let report = json!({
            "findings": findings,
            "wrong": count(findings, Status::Wrong),
            "warnings": count(findings, Status::Warning),
        });
        return output::line(&serde_json::to_string_pretty(&report)?);
    }
    findings.iter().try_for_each(|finding| output::line(&finding.line()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_with_its_status_first() {
        let cases = [
            (Finding::ok("clock", "within 3 ms"), "ok       clock: within 3 ms"),
            (Finding::warning("memory", "a\n  b", "do"), "warning  memory: a b  do"),
            (
                Finding::wrong("disk room", "full", "free\nsome"),
                "wrong    disk room: full  free some",
            ),
        ];
        for (finding, line) in cases {
            assert_eq!(finding.line(), line);
        }
    }
}
