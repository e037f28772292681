//! Client of a SpamAssassin daemon. Request: `REPORT SPAMC/1.5` and the email. Answer: a status line,
//! headers, and a table of the matching rules (spamd/PROTOCOL in SpamAssassin's source).

use std::time::Duration;

use kernel::Timestamp;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::{Engine, Mail, Report, RuleHit};

/// Timeout of the connection.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// Timeout of request and answer together.
const ASK_MAX: Duration = Duration::from_secs(15);
const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Largest email that is sent: the default maximum of `spamc`.
const MAIL_BYTES_MAX: usize = 500 << 10;
/// The heading of the table of rules.
const HEADING: &str = " pts rule name";
/// Columns of a rule's points.
const POINTS_COLUMNS: usize = 5;
const RULES_MAX: usize = 500;

#[derive(Debug, Clone)]
pub struct Spamd {
    address: String,
    ask_max: Duration,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("it cannot be reached")]
    Unreachable,
    #[error("it took longer than {} s", .0.as_secs_f64())]
    Slow(Duration),
    #[error("the connection broke")]
    Broken,
    /// The email is larger than the daemon accepts.
    #[error("the email is larger than {MAIL_BYTES_MAX} bytes")]
    TooLarge,
    /// The content does not form an email.
    #[error("the content makes no email")]
    NoEmail,
    /// The answer is not a report.
    #[error("its answer is no report")]
    Unreadable,
}

impl Fault {
    /// The label in metrics.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow(_) => "slow",
            Self::Broken => "broken",
            Self::TooLarge => "too_large",
            Self::NoEmail => "no_email",
            Self::Unreadable => "unread",
        }
    }
}

impl Spamd {
    pub fn at(address: impl Into<String>) -> Self {
        Self { address: address.into(), ask_max: ASK_MAX }
    }

    pub(super) async fn ask(&self, mail: &Mail, now: Timestamp) -> Result<Report, Fault> {
        let email = mail.written(now).map_err(|_| Fault::NoEmail)?;
        if email.len() > MAIL_BYTES_MAX {
            return Err(Fault::TooLarge);
        }
        let connected = timeout(CONNECT_MAX, TcpStream::connect(&self.address)).await;
        let stream = connected.map_err(|_| Fault::Slow(CONNECT_MAX))?;
        let mut stream = stream.map_err(|_| Fault::Unreachable)?;
        let asked = timeout(self.ask_max, exchange(&mut stream, &email)).await;
        let answer = asked.map_err(|_| Fault::Slow(self.ask_max))?.map_err(|_| Fault::Broken)?;
        report(&answer).ok_or(Fault::Unreadable)
    }
}

async fn exchange(stream: &mut TcpStream, email: &[u8]) -> std::io::Result<Vec<u8>> {
    let head = format!("REPORT SPAMC/1.5\r\nContent-length: {}\r\n\r\n", email.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(email).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    let limit = u64::try_from(ANSWER_BYTES_MAX).unwrap_or(u64::MAX);
    stream.take(limit).read_to_end(&mut answer).await?;
    Ok(answer)
}

/// Reads an answer:
///
/// ```text
/// SPAMD/1.1 0 EX_OK
/// Content-length: 1234
/// Spam: True ; 6.1 / 5.0
///
/// …
///  pts rule name              description
/// ---- ---------------------- --------------------------------------------------
///  1.2 MISSING_HEADERS        Missing To: header
/// ```
fn report(answer: &[u8]) -> Option<Report> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (head, body) = (answer.get(..end)?, answer.get(end + 4..)?);
    let length = body.len();
    let (head, body) = (String::from_utf8_lossy(head), String::from_utf8_lossy(body));
    let mut lines = head.lines();
    let status = lines.next()?;
    let mut words = status.split_ascii_whitespace();
    let is_ok = words.next()?.starts_with("SPAMD/") && words.next()? == "0";
    let field = |name: &str| {
        head.lines().filter_map(|line| line.split_once(':')).find_map(|(key, value)| {
            key.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let spam = field("Spam").filter(|_| is_ok)?;
    let whole = field("Content-length").and_then(|length| length.parse::<usize>().ok());
    if whole.is_some_and(|whole| whole > length) {
        return None;
    }
    let (_, figures) = spam.split_once(';')?;
    let (score, threshold) = figures.split_once('/')?;
    let (score, threshold) = (figure(score)?, figure(threshold)?);
    Some(Report::of(Engine::Spamassassin, score, threshold, rules(&body)))
}

/// A finite number; the daemon's `-0.0` becomes 0.
fn figure(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(number + 0.0)
}

/// The rows below the heading and its line of hyphens; an indented line continues the description above it.
/// Rules with 0 points are left out: they are information for the daemon's administrator.
fn rules(body: &str) -> Vec<RuleHit> {
    let mut rules: Vec<RuleHit> = Vec::new();
    // The answer may quote the email before the table, but then the quoted line is indented.
    let table = body.lines().skip_while(|line| !line.starts_with(HEADING)).skip(2);
    for line in table.take_while(|line| !line.trim().is_empty()) {
        match row(line) {
            Some(rule) if rules.len() < RULES_MAX => rules.push(rule),
            Some(_) => break,
            None => {
                if let Some(last) = rules.last_mut() {
                    last.description.push(' ');
                    last.description.push_str(line.trim());
                }
            }
        }
    }
    rules.retain(|rule| rule.score != 0.0);
    rules
}

fn row(line: &str) -> Option<RuleHit> {
    let points = line.trim_start();
    if line.len() - points.len() > POINTS_COLUMNS {
        return None;
    }
    let (points, rest) = points.split_once(char::is_whitespace)?;
    let (name, description) =
        rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim_start(), ""));
    let score = figure(points)?;
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    is_name.then(|| RuleHit {
        name: name.to_owned(),
        score,
        description: description.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::net::TcpListener;

    use super::*;
    use crate::spam::Verdict;

    const ANSWER: &str = "SPAMD/1.1 0 EX_OK\r\nContent-length: 440\r\nSpam: True ; 6.1 / 5.0\r\n\r\n\
        Spam detection software, running on the system \"x\",\nhas identified this.\n\n\
        Content analysis details:   (6.1 points, 5.0 required)\n\n \
        pts rule name              description\n\
        ---- ---------------------- --------------------------------------------------\n \
        0.0 NO_RELAYS              Informational: message was not relayed\n \
        1.1 URI_PHISH              Phishing using web form\n\
        -0.2 GOOD_RULE              Speaks\n                            for it 1.0\n \
        5.2 __ODD_1\n\
        1000 GTUBE                  BODY: Generic Test\n\nbye\n";

    #[test]
    fn a_score_of_zero_has_no_sign() {
        assert!(figure(" -0.0 ").is_some_and(f64::is_sign_positive));
        assert_eq!(figure("-0.2"), Some(-0.2));
        assert_eq!(figure("inf"), None);
    }

    #[test]
    fn an_answer_is_read_row_by_row() {
        let report = report(ANSWER.as_bytes()).unwrap();
        assert_eq!((report.score, report.threshold, report.is_spam), (6.1, 5.0, true));
        assert_eq!((report.verdict, report.engine), (Verdict::Fail, Engine::Spamassassin));
        let rules: Vec<(&str, f64, &str)> = report
            .rules
            .iter()
            .map(|rule| (rule.name.as_str(), rule.score, rule.description.as_str()))
            .collect();
        assert_eq!(
            rules,
            [
                ("GTUBE", 1000.0, "BODY: Generic Test"),
                ("__ODD_1", 5.2, ""),
                ("URI_PHISH", 1.1, "Phishing using web form"),
                ("GOOD_RULE", -0.2, "Speaks for it 1.0"),
            ]
        );
    }

    #[test]
    fn malformed_reports_are_refused() {
        for (from, to) in [
            ("SPAMD/1.1 0 EX_OK", "SPAMD/1.1 76 Bad header line"),
            ("SPAMD/1.1 0 EX_OK", "HTTP/1.1 200 OK"),
            ("Spam: True ; 6.1 / 5.0", "Spam: True"),
            ("6.1 / 5.0", "NaN / 5.0"),
            ("6.1 / 5.0", "6.1 / inf"),
            ("Content-length: 440", "Content-length: 9999"),
            ("\r\n\r\n", "\r\n"),
        ] {
            assert_eq!(report(ANSWER.replace(from, to).as_bytes()), None, "{to}");
        }
        assert_eq!(report(b""), None);
    }

    /// A daemon that reads part of the request and then follows its script.
    async fn scripted(answer: Option<&'static str>, ask_max: Duration) -> Result<Report, Fault> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let daemon = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut question = Vec::new();
            stream.read_to_end(&mut question).await.unwrap();
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
                None => std::future::pending().await,
            }
            String::from_utf8(question).unwrap()
        });
        let spamd = Spamd { address, ask_max };
        let mail =
            Mail { subject: "Hi".to_owned(), text: Some("Hello".to_owned()), ..Mail::default() };
        let asked = spamd.ask(&mail, Timestamp::from_millis(0)).await;
        if answer.is_some() {
            let question = daemon.await.unwrap();
            let (head, email) = question.split_once("\r\n\r\n").unwrap();
            let length = format!("REPORT SPAMC/1.5\r\nContent-length: {}", email.len());
            assert_eq!(head, length);
        } else {
            daemon.abort();
        }
        asked
    }

    #[tokio::test]
    async fn a_misbehaving_daemon_is_a_fault_and_does_not_block() {
        let long = Duration::from_mins(1);
        assert!(scripted(Some(ANSWER), long).await.unwrap().is_spam);
        assert!(matches!(scripted(Some(""), long).await, Err(Fault::Unreadable)));
        assert!(matches!(
            scripted(Some("SPAMD/1.1 0 EX_OK\r\n"), long).await,
            Err(Fault::Unreadable)
        ));
        let slow = scripted(None, Duration::from_millis(50)).await;
        assert!(matches!(slow, Err(Fault::Slow(_))), "{slow:?}");
        // A port without a listener.
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let absent = Spamd::at(gone.to_string());
        let asked = absent.ask(&Mail::default(), Timestamp::from_millis(0)).await;
        assert!(matches!(asked, Err(Fault::Unreachable)));
    }

    #[tokio::test]
    async fn an_email_above_the_daemons_limit_is_not_sent() {
        let mail = Mail { text: Some("x".repeat(MAIL_BYTES_MAX)), ..Mail::default() };
        let asked = Spamd::at("127.0.0.1:1").ask(&mail, Timestamp::from_millis(0)).await;
        assert!(matches!(asked, Err(Fault::TooLarge)));
    }

    proptest! {
        #[test]
        fn any_answer_is_parsed_or_refused(at in 0..ANSWER.len(), junk in "[\\PC\r\n]{0,40}") {
            let cut: String = ANSWER.chars().take(at).chain(junk.chars()).collect();
            let _ = report(cut.as_bytes());
            let _ = report(junk.as_bytes());
        }
    }
}
