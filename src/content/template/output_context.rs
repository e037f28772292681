//! The context of a position in HTML: a tokenizer that follows browsers ([HTML
//! 13.2.5](https://html.spec.whatwg.org/multipage/parsing.html#tokenization)) and never reports errors.

/// The context of output, which determines its escaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputContext {
    /// Between tags, or in a quoted attribute.
    Text,
    /// In an unquoted attribute.
    Bare,
    /// At the beginning of an address.
    Address,
    /// At the beginning of a standalone address, outside HTML.
    Whole,
    /// In the path of an address.
    Path,
    /// In the query or fragment of an address.
    Query,
    Style,
    /// In a name or a script: only letters and digits are safe.
    Name,
    /// Inside a JSON string, or in its position.
    Json,
}

/// Attributes that hold an address.
const ADDRESSES: &[&str] = &[
    "href",
    "src",
    "action",
    "formaction",
    "background",
    "poster",
    "cite",
    "data",
    "longdesc",
    "manifest",
    "ping",
    "xlink:href",
    "usemap",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Data,
    /// Inside `<style>`, `<script>`, `<title>` or `<textarea>`, which only their end tag ends.
    RawText,
    TagName,
    BetweenAttributes,
    AttributeName,
    BeforeValue,
    Value(Option<u8>),
    Comment,
}

/// A tokenizer for HTML in pieces.
#[derive(Debug)]
pub(super) struct Reader {
    state: State,
    tag: String,
    attribute: String,
    value: String,
    /// The last bytes, for recognising the ends of comments and raw text.
    tail: String,
}

impl Reader {
    /// At the start of a document.
    pub(super) fn new() -> Self {
        let (tag, attribute, value, tail) = Default::default();
        Self { state: State::Data, tag, attribute, value, tail }
    }

    pub(super) fn read(&mut self, text: &str) {
        for letter in text.chars() {
            self.step(letter);
        }
    }

    /// The context at the current position.
    pub(super) fn context(&self) -> OutputContext {
        match self.state {
            State::Data | State::Comment => OutputContext::Text,
            State::RawText => match self.tag.as_str() {
                "style" => OutputContext::Style,
                "script" => OutputContext::Name,
                _ => OutputContext::Text,
            },
            State::TagName | State::BetweenAttributes | State::AttributeName => OutputContext::Name,
            State::BeforeValue => self.value_context(None),
            State::Value(quote) => self.value_context(quote),
        }
    }

    /// Skips output whose text is unknown.
    pub(super) fn skip_output(&mut self) {
        match self.state {
            State::BeforeValue => {
                self.state = State::Value(None);
                self.value.push('x');
            }
            State::Value(_) => self.value.push('x'),
            State::BetweenAttributes => {
                self.state = State::AttributeName;
                "x".clone_into(&mut self.attribute);
            }
            _ => {}
        }
        self.tail.clear();
    }

    fn value_context(&self, quote: Option<u8>) -> OutputContext {
        let attribute = self.attribute.as_str();
        if attribute == "style" {
            OutputContext::Style
        } else if attribute.starts_with("on") || attribute == "srcdoc" {
            OutputContext::Name
        } else if ADDRESSES.contains(&attribute) {
            match self.value.trim_start() {
                "" => OutputContext::Address,
                begun if begun.contains(['?', '#']) => OutputContext::Query,
                _ => OutputContext::Path,
            }
        } else if quote.is_none() {
            OutputContext::Bare
        } else {
            OutputContext::Text
        }
    }

    fn step(&mut self, letter: char) {
        match self.state {
            State::Data => self.data(letter),
            State::RawText => self.raw_text(letter),
            State::Comment => {
                self.remember(letter);
                if self.tail.ends_with("-->") {
                    self.enter(State::Data);
                }
            }
            State::TagName => match letter {
                '>' => self.tag_ends(),
                '/' | ' ' | '\t' | '\n' | '\r' | '\u{c}' => self.state = State::BetweenAttributes,
                _ => {
                    self.tag.push(letter.to_ascii_lowercase());
                    if self.tag.starts_with("!--") {
                        self.enter(State::Comment);
                    }
                }
            },
            State::BetweenAttributes => match letter {
                '>' => self.tag_ends(),
                '/' => {}
                '=' if !self.attribute.is_empty() => {
                    self.value.clear();
                    self.state = State::BeforeValue;
                }
                _ if letter.is_ascii_whitespace() => {}
                _ => {
                    self.attribute = letter.to_ascii_lowercase().to_string();
                    self.state = State::AttributeName;
                }
            },
            State::AttributeName => match letter {
                '>' => self.tag_ends(),
                '=' => {
                    self.value.clear();
                    self.state = State::BeforeValue;
                }
                _ if letter.is_ascii_whitespace() || letter == '/' => {
                    self.state = State::BetweenAttributes;
                }
                _ => self.attribute.push(letter.to_ascii_lowercase()),
            },
            State::BeforeValue => match letter {
                '>' => self.tag_ends(),
                '"' => self.state = State::Value(Some(b'"')),
                '\'' => self.state = State::Value(Some(b'\'')),
                _ if letter.is_ascii_whitespace() => {}
                _ => {
                    self.value.push(letter);
                    self.state = State::Value(None);
                }
            },
            State::Value(quote) => self.value(letter, quote),
        }
    }

    fn data(&mut self, letter: char) {
        if self.tail == "<" && (letter.is_ascii_alphabetic() || matches!(letter, '/' | '!')) {
            self.tag = letter.to_string().to_ascii_lowercase();
            self.attribute.clear();
            self.enter(State::TagName);
        } else {
            self.tail.clear();
            if letter == '<' {
                self.tail.push('<');
            }
        }
    }

    fn raw_text(&mut self, letter: char) {
        self.remember(letter);
        let end = format!("</{}", self.tag);
        if self.tail.ends_with(&end) {
            self.tag.insert(0, '/');
            self.attribute.clear();
            self.enter(State::BetweenAttributes);
        }
    }

    fn value(&mut self, letter: char, quote: Option<u8>) {
        let ends = match quote {
            Some(quote) => letter == char::from(quote),
            None => letter.is_ascii_whitespace(),
        };
        if ends {
            self.attribute.clear();
            self.state = State::BetweenAttributes;
        } else if quote.is_none() && letter == '>' {
            self.tag_ends();
        } else {
            self.value.push(letter);
        }
    }

    fn tag_ends(&mut self) {
        let raw = matches!(self.tag.as_str(), "style" | "script" | "title" | "textarea");
        self.enter(if raw { State::RawText } else { State::Data });
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.tail.clear();
    }

    /// Remembers as many characters as the longest end has.
    fn remember(&mut self, letter: char) {
        const KEPT: usize = 12;
        self.tail.push(letter.to_ascii_lowercase());
        if self.tail.chars().count() > KEPT {
            self.tail.remove(0);
        }
    }
}
