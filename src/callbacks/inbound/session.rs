//! The state of an SMTP (RFC 5321) or LMTP (RFC 2033) session, without I/O.

use providers::model::Reference;

/// Recipients of one mail: RFC 5321 4.5.3.1.8 wants a hundred.
const RECIPIENTS_MAX: usize = 100;
/// Unknown commands before the session ends.
const MISTAKES_MAX: u32 = 10;
/// Mails of one session.
const MAILS_MAX: u32 = 1000;
/// Largest mail that is accepted, in bytes; less of it is read.
pub(super) const MAIL_BYTES_MAX: usize = 25 << 20;

#[derive(Debug, Default)]
pub(super) struct Session {
    greeted: bool,
    is_lmtp: bool,
    has_sender: bool,
    recipients: Vec<String>,
    mistakes: u32,
    mails: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    /// The next command follows.
    Continue(String),
    /// The mail follows this reply.
    Data(&'static str),
    /// The connection is closed.
    Close(&'static str),
}

/// The result of reading a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MailResult {
    /// Its reports, if it has any, were applied.
    Accepted,
    NotMail,
    TooLarge,
    /// A store is unavailable.
    TryAgain,
}

fn reply(text: &str) -> Reply {
    Reply::Continue(text.to_owned())
}

impl Session {
    pub(super) fn command(&mut self, line: &str) -> Reply {
        let (verb, rest) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
        match verb.to_ascii_uppercase().as_str() {
            "HELO" => self.greet(false, "250 millrace"),
            "EHLO" => self.greet(false, &Self::greeting()),
            "LHLO" => self.greet(true, &Self::greeting()),
            "MAIL" => self.mail(rest),
            "RCPT" => self.recipient(rest),
            "DATA" if self.recipients.is_empty() => reply("503 5.5.1 no valid recipients"),
            "DATA" => Reply::Data("354 end with <CRLF>.<CRLF>"),
            "RSET" => {
                self.reset();
                reply("250 2.0.0 ok")
            }
            "NOOP" => reply("250 2.0.0 ok"),
            "VRFY" => reply("252 2.1.5 try it"),
            "QUIT" => Reply::Close("221 2.0.0 bye"),
            _ => {
                self.mistakes += 1;
                if self.mistakes >= MISTAKES_MAX {
                    return Reply::Close("421 4.7.0 too many mistakes");
                }
                reply("500 5.5.2 not understood")
            }
        }
    }

    fn greeting() -> String {
        format!(
            "250-millrace\r\n250-SIZE {MAIL_BYTES_MAX}\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n\
             250-PIPELINING\r\n250 ENHANCEDSTATUSCODES"
        )
    }

    fn greet(&mut self, is_lmtp: bool, answer: &str) -> Reply {
        self.reset();
        self.greeted = true;
        self.is_lmtp = is_lmtp;
        reply(answer)
    }

    fn mail(&mut self, rest: &str) -> Reply {
        if !self.greeted {
            return reply("503 5.5.1 greet first");
        }
        if self.has_sender {
            return reply("503 5.5.1 one sender at a time");
        }
        if self.mails >= MAILS_MAX {
            return Reply::Close("421 4.7.0 too many messages in one session");
        }
        let Some((_, parameters)) = path(rest, "FROM:") else {
            return reply("501 5.5.4 MAIL FROM:<address>");
        };
        let sizes = parameters.split(' ').filter_map(|one| one.split_once('='));
        let mut sizes = sizes.filter(|(name, _)| name.eq_ignore_ascii_case("SIZE"));
        let is_large =
            |(_, size): (&str, &str)| size.parse::<usize>().is_ok_and(|size| size > MAIL_BYTES_MAX);
        if sizes.any(is_large) {
            return reply("552 5.3.4 too large");
        }
        self.has_sender = true;
        reply("250 2.1.0 ok")
    }

    fn recipient(&mut self, rest: &str) -> Reply {
        if !self.has_sender {
            return reply("503 5.5.1 MAIL first");
        }
        let Some((address, _)) = path(rest, "TO:") else {
            return reply("501 5.5.4 RCPT TO:<address>");
        };
        if Reference::of_bounce_address(address).is_none() {
            return reply("550 5.1.1 no such mailbox");
        }
        if self.recipients.len() >= RECIPIENTS_MAX {
            return reply("452 4.5.3 too many recipients");
        }
        self.recipients.push(address.to_owned());
        reply("250 2.1.5 ok")
    }

    /// The recipients of the mail that follows.
    pub(super) fn recipients(&self) -> &[String] {
        &self.recipients
    }

    /// Answers a mail: in LMTP once for each recipient.
    pub(super) fn answer(&mut self, result: MailResult) -> String {
        let line = match result {
            MailResult::Accepted => "250 2.0.0 ok\r\n",
            MailResult::NotMail => "554 5.6.0 not a mail message\r\n",
            MailResult::TooLarge => "552 5.3.4 too large\r\n",
            MailResult::TryAgain => "451 4.3.0 try again later\r\n",
        };
        let times = if self.is_lmtp { self.recipients.len() } else { 1 };
        self.mails += 1;
        self.reset();
        line.repeat(times)
    }

    fn reset(&mut self) {
        self.has_sender = false;
        self.recipients.clear();
    }
}

/// The address in `FROM:<address> PARAMETER=…`, and the parameters.
fn path<'a>(rest: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let (given, rest) = rest.split_at_checked(word.len())?;
    if !given.eq_ignore_ascii_case(word) {
        return None;
    }
    let (address, parameters) = rest.trim_start().strip_prefix('<')?.split_once('>')?;
    Some((address, parameters.trim()))
}

#[cfg(test)]
mod tests {
    use kernel::{MessageId, WorkspaceId};
    use proptest::prelude::*;

    use super::*;

    fn ours() -> String {
        let uuid = uuid::Uuid::from_u128;
        let reference =
            Reference { workspace: WorkspaceId::new(uuid(1)), message: MessageId::new(uuid(2)) };
        reference.bounce_address("bounce.example.test")
    }

    fn code(reply: &Reply) -> &str {
        let text = match reply {
            Reply::Continue(text) => text.as_str(),
            Reply::Data(text) | Reply::Close(text) => text,
        };
        text.get(..3).unwrap()
    }

    fn codes(session: &mut Session, lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| code(&session.command(line)).to_owned()).collect()
    }

    #[test]
    fn mail_is_accepted_for_bounce_addresses_only() {
        let mut session = Session::default();
        let to = format!("RCPT TO:<{}>", ours());
        let lines = [
            "MAIL FROM:<>",
            "ehlo mx.example.test",
            "RCPT TO:<x@y.test>",
            "DATA",
            "mail from:<> SIZE=100",
            "MAIL FROM:<>",
            "RCPT TO:<postmaster@bounce.example.test>",
            "RCPT TO:<b+abc@bounce.example.test>",
            "DATA",
            &to,
            "DATA",
        ];
        let wanted = ["503", "250", "503", "503", "250", "503", "550", "550", "503", "250", "354"];
        assert_eq!(codes(&mut session, &lines), wanted);
        assert_eq!(session.recipients(), [ours()]);
        assert_eq!(session.answer(MailResult::TryAgain), "451 4.3.0 try again later\r\n");
        assert_eq!(codes(&mut session, &["DATA", "QUIT"]), ["503", "221"], "one mail, one DATA");
    }

    #[test]
    fn lmtp_answers_for_each_recipient() {
        let mut session = Session::default();
        let to = format!("RCPT TO:<{}>", ours());
        codes(&mut session, &["LHLO mx", "MAIL FROM:<>", &to, &to, "DATA"]);
        assert_eq!(session.answer(MailResult::Accepted), "250 2.0.0 ok\r\n250 2.0.0 ok\r\n");
    }

    #[test]
    fn every_number_is_bounded() {
        let mut session = Session::default();
        let to = format!("RCPT TO:<{}>", ours());
        codes(&mut session, &["EHLO x", "MAIL FROM:<>"]);
        for _ in 0..RECIPIENTS_MAX {
            assert_eq!(codes(&mut session, &[&to]), ["250"]);
        }
        assert_eq!(codes(&mut session, &[&to]), ["452"]);
        let large = format!("MAIL FROM:<> SIZE={}", MAIL_BYTES_MAX + 1);
        let fits = format!("MAIL FROM:<> SIZE={MAIL_BYTES_MAX}");
        assert_eq!(codes(&mut session, &["RSET", &large, &fits]), ["250", "552", "250"]);
        for _ in 1..MISTAKES_MAX {
            assert!(matches!(session.command("AUTH PLAIN"), Reply::Continue(_)));
        }
        assert!(matches!(session.command("STARTTLS"), Reply::Close(_)));
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(lines in prop::collection::vec("\\PC{0,40}", 0..9), to in "\\PC{0,20}") {
            let mut session = Session::default();
            for line in &lines {
                session.command(line);
            }
            codes(&mut session, &["EHLO x", "MAIL FROM:<>", &format!("RCPT TO:{to}")]);
        }
    }
}
