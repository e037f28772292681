//! The signature of Twilio's callbacks.

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::callback::Parameters;

/// Bytes of an HMAC-SHA1.
const SIGNATURE_BYTES: usize = 20;

/// Whether a text has the shape of a signature of Twilio's, so that it is worth reading what it signs.
pub(super) fn is_signature(text: &str) -> bool {
    STANDARD.decode(text).is_ok_and(|bytes| bytes.len() == SIGNATURE_BYTES)
}

/// Whether `signature` (`X-Twilio-Signature`) is that of a form posted to `url` as Twilio was given it:
/// the base64 of HMAC-SHA1 over the URL and every field's name and value, the fields sorted by name
/// (https://www.twilio.com/docs/usage/security). Takes constant time.
pub(super) fn is_signed(auth_token: &str, url: &str, form: &Parameters, signature: &str) -> bool {
    let Ok(signature) = STANDARD.decode(signature) else { return false };
    let mut fields: Vec<_> = form.iter().collect();
    // A field that is named twice is signed once for each of its values, and these in order.
    fields.sort();
    fields.dedup();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, auth_token.as_bytes());
    let mut signed = url.to_owned();
    for (name, value) in fields {
        signed.push_str(name);
        signed.push_str(value);
    }
    hmac::verify(&key, signed.as_bytes(), &signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_url_and_form_only() {
        // The example of Twilio's documentation.
        let (token, url) = ("12345", "https://mycompany.com/myapp.php?foo=1&bar=2");
        let fields = [
            ("Digits", "1234"),
            ("CallSid", "CA1234567890ABCDE"),
            ("To", "+18005551212"),
            ("Caller", "+14158675309"),
            ("From", "+14158675309"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let signature = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";
        let forward: Vec<_> = fields.iter().rev().cloned().collect();
        assert!(is_signed(token, url, &fields, signature));
        assert!(is_signed(token, url, &forward, signature), "the order of fields does not matter");
        assert!(!is_signed("12346", url, &fields, signature));
        assert!(!is_signed(token, "https://mycompany.com/myapp.php", &fields, signature));
        assert!(!is_signed(token, url, &fields[1..], signature));
        for bad in ["", "no base64!", "AAAA", "RSOYDt4T1cUTdK1PDd93/VVr8B9="] {
            assert!(!is_signed(token, url, &fields, bad), "{bad}");
        }
    }
}
