//! Where in HTML the next character would stand: a reader of tags that never judges, as browsers do
//! ([HTML 13.2.5](https://html.spec.whatwg.org/multipage/parsing.html#tokenization), in outline).

/// What output at a place has to be made into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Between tags, or in a quoted attribute.
    Text,
    /// In an attribute without quotes.
    Bare,
    /// At the beginning of an address.
    Address,
    /// At the beginning of an address that stands alone, outside of HTML.
    Whole,
    /// In the path of an address.
    Path,
    /// In the query or fragment of an address.
    Query,
    Style,
    /// Where a name is expected, or in a script: only letters and digits are safe.
    Name,
    /// In a string of JSON, or where one would be.
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
    /// Inside `<style>`, `<script>`, `<title>` or `<textarea>`, whose end tag alone ends it.
    RawText,
    TagName,
    BetweenAttributes,
    AttributeName,
    BeforeValue,
    Value(Option<u8>),
    Comment,
}

/// Reads HTML as it goes by.
#[derive(Debug)]
pub(super) struct Reader {
    state: State,
    tag: String,
    attribute: String,
    value: String,
    /// The last bytes, to know the ends of comments and raw text.
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

    /// The place of output here.
    pub(super) fn place(&self) -> Place {
        match self.state {
            State::Data | State::Comment => Place::Text,
            State::RawText => match self.tag.as_str() {
                "style" => Place::Style,
                "script" => Place::Name,
                _ => Place::Text,
            },
            State::TagName | State::BetweenAttributes | State::AttributeName => Place::Name,
            State::BeforeValue => self.value_place(None),
            State::Value(quote) => self.value_place(quote),
        }
    }

    /// Something unknown was written here.
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

    fn value_place(&self, quote: Option<u8>) -> Place {
        let attribute = self.attribute.as_str();
        if attribute == "style" {
            Place::Style
        } else if attribute.starts_with("on") || attribute == "srcdoc" {
            Place::Name
        } else if ADDRESSES.contains(&attribute) {
            match self.value.trim_start() {
                "" => Place::Address,
                begun if begun.contains(['?', '#']) => Place::Query,
                _ => Place::Path,
            }
        } else if quote.is_none() {
            Place::Bare
        } else {
            Place::Text
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

    /// Keeps as many last letters as the longest end has.
    fn remember(&mut self, letter: char) {
        const KEPT: usize = 12;
        self.tail.push(letter.to_ascii_lowercase());
        if self.tail.chars().count() > KEPT {
            self.tail.remove(0);
        }
    }
}
