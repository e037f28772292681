//! Keywords in replies to text messages, which carriers require senders to obey.

/// The request of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyword {
    Stop,
    Start,
    Help,
}

/// The keywords of the CTIA's handbook and of the FCC's rule of 2025 (47 CFR 64.1200(a)(10)).
const WORDS: &[(&str, Keyword)] = &[
    ("stop", Keyword::Stop),
    ("stopall", Keyword::Stop),
    ("stop all", Keyword::Stop),
    ("unsubscribe", Keyword::Stop),
    ("cancel", Keyword::Stop),
    ("end", Keyword::Stop),
    ("quit", Keyword::Stop),
    ("revoke", Keyword::Stop),
    ("optout", Keyword::Stop),
    ("opt out", Keyword::Stop),
    ("opt-out", Keyword::Stop),
    ("start", Keyword::Start),
    ("yes", Keyword::Start),
    ("unstop", Keyword::Start),
    ("help", Keyword::Help),
    ("info", Keyword::Help),
];
/// Bytes of a text that may be a keyword, including punctuation.
const TEXT_BYTES_MAX: usize = 64;

impl Keyword {
    /// Reads a text. Only a text that consists of the keyword alone matches: "please stop by" does not.
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let bare = text.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
        let words: Vec<&str> = bare.split_whitespace().collect();
        let bare = words.join(" ");
        WORDS.iter().find(|(word, _)| *word == bare).map(|(_, keyword)| *keyword)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_alone_matches_in_any_spelling() {
        for (text, keyword) in [
            ("STOP", Keyword::Stop),
            (" stop.\n", Keyword::Stop),
            ("\"Stop!\"", Keyword::Stop),
            ("Stop  All", Keyword::Stop),
            ("StopAll", Keyword::Stop),
            ("unsubscribe", Keyword::Stop),
            ("CANCEL", Keyword::Stop),
            ("End", Keyword::Stop),
            ("quit", Keyword::Stop),
            ("Opt-out", Keyword::Stop),
            ("START", Keyword::Start),
            ("yes", Keyword::Start),
            ("Unstop", Keyword::Start),
            ("help?", Keyword::Help),
        ] {
            assert_eq!(Keyword::read(text), Some(keyword), "{text}");
        }
    }

    #[test]
    fn other_texts_mean_something_else() {
        for text in
            ["", " ", "please stop by", "stop it", "no", "yes please", "stopp", "…", "STOP\0X"]
        {
            assert_eq!(Keyword::read(text), None, "{text}");
        }
        assert_eq!(Keyword::read(&format!("stop{}", " ".repeat(60))), Some(Keyword::Stop));
        assert_eq!(Keyword::read(&format!("stop{}", " ".repeat(61))), None);
    }
}
