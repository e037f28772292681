//! Sender domains: whether the records by which they were verified are still there.

use config::Settings;
use sender_domains::{dns::Dns, ops::Recheck};
use sqlx::PgPool;

use super::finding::Finding;

const DOMAINS: &str = "sender domains";
/// Domains that are looked up in one run.
const DOMAINS_MAX: u32 = 500;

/// Looks up the records of all verified domains. DNS is asked only if there are some.
pub(super) async fn check(settings: &Settings, pool: &PgPool) -> Vec<Finding> {
    let setup = match providers::sender_setup(settings) {
        Ok(setup) => setup,
        Err(error) => {
            let action = "correct the settings of channels.email";
            return vec![Finding::wrong(DOMAINS, format!("not checked: {error:#}"), action)];
        }
    };
    let dns = Dns::at(settings.security.resolver);
    let found = sender_domains::ops::recheck_verified(pool, &setup, &dns, DOMAINS_MAX.into()).await;
    match found {
        Ok(rechecks) => findings(&rechecks),
        Err(error) => vec![Finding::warning(
            DOMAINS,
            format!("not checked: {error}"),
            "see the findings on PostgreSQL",
        )],
    }
}

fn findings(rechecks: &[Recheck]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = rechecks.iter().filter_map(of).collect();
    if findings.is_empty() {
        let what = match rechecks.len() {
            0 => "none is verified".to_owned(),
            count => format!("the records of {count} are there"),
        };
        findings.push(Finding::ok(DOMAINS, what));
    }
    if rechecks.len() == usize::try_from(DOMAINS_MAX).unwrap_or(usize::MAX) {
        let what = format!("only the first {DOMAINS_MAX} were checked");
        findings.push(Finding::warning(
            DOMAINS,
            what,
            "check others by POST /sender-domains/:id/verify",
        ));
    }
    findings
}

fn of(recheck: &Recheck) -> Option<Finding> {
    let name = format!("{} of workspace {}", recheck.domain, recheck.workspace);
    if !recheck.problems.is_empty() {
        let what = format!("{name}: {}", recheck.problems.join("; "));
        let action = format!("set the records again, or remove the domain {}", recheck.domain);
        return Some(Finding::warning(DOMAINS, what, action));
    }
    (!recheck.is_answered).then(|| {
        Finding::warning(
            DOMAINS,
            format!("{name} not checked: DNS gave no answer"),
            "check security.resolver, or the resolver of this machine",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Status, *};

    fn recheck(problems: &[&str], is_answered: bool) -> Recheck {
        Recheck {
            workspace: "shop".to_owned(),
            domain: "news.example.test".to_owned(),
            problems: problems.iter().map(|it| (*it).to_owned()).collect(),
            is_answered,
        }
    }

    #[test]
    fn a_missing_record_and_a_silent_resolver_are_reported_for_each_domain() {
        let cases = [
            (vec![], Status::Ok, "none is verified"),
            (vec![recheck(&[], true)], Status::Ok, "the records of 1 are there"),
            (vec![recheck(&["there is no TXT record"], true)], Status::Warning, "no TXT record"),
            (vec![recheck(&[], true), recheck(&[], false)], Status::Warning, "no answer"),
        ];
        for (rechecks, status, text) in cases {
            let found = findings(&rechecks);
            assert_eq!((found.len(), found[0].status), (1, status), "{found:?}");
            assert!(found[0].what.contains(text), "{found:?}");
        }
    }
}
