//! Normalisation of text, and counts of letters, words and phrases.

/// Phrases typical of spam, in the users' main languages. In lower case, words separated by single spaces.
const PHRASES: &[&str] = &[
    "100% free",
    "100% guaranteed",
    "act now",
    "additional income",
    "as seen on",
    "bargain basement",
    "be your own boss",
    "best price ever",
    "big bucks",
    "billion dollars",
    "buy now",
    "buy direct",
    "call now",
    "cash bonus",
    "casino",
    "cheap meds",
    "claim your prize",
    "claim your reward",
    "click below",
    "click here now",
    "congratulations you",
    "credit card offers",
    "dear friend",
    "dear winner",
    "do it today",
    "double your",
    "earn extra cash",
    "earn money",
    "easy money",
    "eliminate debt",
    "exclusive deal",
    "expires today",
    "extra income",
    "fast cash",
    "financial freedom",
    "for instant access",
    "free access",
    "free gift",
    "free iphone",
    "free money",
    "full refund",
    "get paid",
    "get rich",
    "guaranteed income",
    "hidden charges",
    "home based business",
    "income from home",
    "increase your sales",
    "incredible deal",
    "instant winner",
    "investment opportunity",
    "limited time only",
    "lose weight",
    "lowest price",
    "lottery",
    "make money",
    "millions of dollars",
    "miracle",
    "money back guarantee",
    "month trial offer",
    "no catch",
    "no credit check",
    "no experience",
    "no hidden",
    "no obligation",
    "no purchase necessary",
    "no questions asked",
    "no strings attached",
    "not spam",
    "not junk",
    "once in a lifetime",
    "online pharmacy",
    "order now",
    "pay off your debt",
    "pre-approved",
    "prize",
    "pure profit",
    "risk free",
    "risk-free",
    "satisfaction guaranteed",
    "save big money",
    "serious cash",
    "special promotion",
    "this is not spam",
    "this isn't spam",
    "unsecured credit",
    "urgent",
    "viagra",
    "weight loss",
    "what are you waiting for",
    "while supplies last",
    "winner",
    "winning",
    "work from home",
    "you are a winner",
    "you have been chosen",
    "you have been selected",
    "you won",
    "your account has been",
    "verify your account",
    "wire transfer",
    "bitcoin investment",
    "crypto profit",
    "gratis iphone",
    "schnell reich",
    "sie haben gewonnen",
    "jetzt zuschlagen",
    "ohne risiko",
    "dinero rápido",
    "gane dinero",
    "usted ha ganado",
    "argent facile",
    "vous avez gagné",
];

/// Fewer letters are too few for a share of capitals.
const LETTERS_MIN: usize = 8;

/// Text in lower case, words separated by single spaces.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.extend(word.chars().flat_map(char::to_lowercase));
    }
    plain
}

/// How many of the phrases occur in a normalised text as whole words, each counted once.
pub(super) fn phrases(plain: &str) -> usize {
    PHRASES.iter().filter(|phrase| contains(plain, phrase)).count()
}

fn contains(plain: &str, phrase: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric();
    plain.match_indices(phrase).any(|(at, _)| {
        let before = plain.get(..at).and_then(|text| text.chars().next_back());
        let after = plain.get(at + phrase.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}

/// Whether nine of ten letters with a case are capitals.
pub(super) fn shouts(text: &str) -> bool {
    let capitals = text.chars().filter(|c| c.is_uppercase()).count();
    let small = text.chars().filter(|c| c.is_lowercase()).count();
    capitals + small >= LETTERS_MIN && capitals * 10 >= (capitals + small) * 9
}

/// Words of at least four letters, and how many of them are in capitals.
pub(super) fn shouted_words(text: &str) -> (usize, usize) {
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().count() >= 4);
    words.fold((0, 0), |(all, shouted), word| {
        let is_shouted = word.chars().all(char::is_uppercase);
        (all + 1, shouted + usize::from(is_shouted))
    })
}
