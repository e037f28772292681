//! What Twilio tells of later, and how it proves that it is Twilio.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::hmac;

use super::effect;
use crate::model::{Callback, Happened, Inbound, cut_to_line};

/// The fields of a form in the order they came.
pub type Form = [(String, String)];

/// Bytes of an HMAC-SHA1.
const SIGNATURE_BYTES: usize = 20;

/// Whether a text has the shape of a signature of Twilio's, so that it is worth reading what it signs.
pub fn is_signature(text: &str) -> bool {
    STANDARD.decode(text).is_ok_and(|bytes| bytes.len() == SIGNATURE_BYTES)
}

/// Whether `signature` (`X-Twilio-Signature`) is that of a form posted to `url` as Twilio was given it:
/// the base64 of HMAC-SHA1 over the URL and every field's name and value, the fields sorted by name
/// (https://www.twilio.com/docs/usage/security). Takes constant time.
pub fn is_signed(auth_token: &str, url: &str, form: &Form, signature: &str) -> bool {
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

/// Reads a status callback. None where it tells of nothing that counts. Our own name of the message stands
/// in the address it is posted to, as `m`.
pub fn read_status(form: &Form) -> Option<Callback> {
    let provider_id = field(form, "MessageSid").or_else(|| field(form, "SmsSid"))?.to_owned();
    let status = field(form, "MessageStatus").or_else(|| field(form, "SmsStatus"))?;
    let happened = match status {
        "sent" => Happened::Sent,
        "delivered" => Happened::Delivered,
        "read" => Happened::Read,
        "failed" | "undelivered" | "canceled" => {
            let number = field(form, "ErrorCode").and_then(|code| code.parse::<i64>().ok());
            Happened::Failed {
                code: number.map_or_else(|| status.to_owned(), |number| number.to_string()),
                reason: cut_to_line(field(form, "ErrorMessage").unwrap_or(status)),
                effect: number.and_then(effect),
            }
        }
        _ => return None,
    };
    Some(Callback { provider_id, reference: None, happened, at: None })
}

/// Reads a message that somebody wrote. None where it is none.
pub fn read_inbound(form: &Form) -> Option<Inbound> {
    Some(Inbound {
        id: field(form, "MessageSid").or_else(|| field(form, "SmsSid"))?.to_owned(),
        from: field(form, "From")?.to_owned(),
        to: field(form, "To")?.to_owned(),
        text: field(form, "Body")?.to_owned(),
    })
}

fn field<'f>(form: &'f Form, name: &str) -> Option<&'f str> {
    form.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Effect;

    fn form(fields: &[(&str, &str)]) -> Vec<(String, String)> {
        fields.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_signature_holds_for_its_url_and_form_only() {
        // The example of Twilio's documentation.
        let (token, url) = ("12345", "https://mycompany.com/myapp.php?foo=1&bar=2");
        let fields = form(&[
            ("Digits", "1234"),
            ("CallSid", "CA1234567890ABCDE"),
            ("To", "+18005551212"),
            ("Caller", "+14158675309"),
            ("From", "+14158675309"),
        ]);
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

    #[test]
    fn a_status_says_what_happened() {
        let failed = |code: &str, reason: &str, effect| {
            Some(Happened::Failed { code: code.to_owned(), reason: reason.to_owned(), effect })
        };
        for (status, code, happened) in [
            ("sent", "", Some(Happened::Sent)),
            ("delivered", "", Some(Happened::Delivered)),
            ("read", "", Some(Happened::Read)),
            ("undelivered", "30003", failed("30003", "undelivered", None)),
            ("undelivered", "30005", failed("30005", "undelivered", Some(Effect::HardBounce))),
            ("undelivered", "30006", failed("30006", "undelivered", Some(Effect::HardBounce))),
            ("failed", "21610", failed("21610", "failed", Some(Effect::Unsubscribed))),
            ("failed", "x", failed("failed", "failed", None)),
            ("canceled", "", failed("canceled", "canceled", None)),
            ("queued", "", None),
            ("sending", "", None),
            ("accepted", "", None),
            ("received", "", None),
            ("", "", None),
        ] {
            let fields =
                form(&[("MessageSid", "SM1"), ("MessageStatus", status), ("ErrorCode", code)]);
            let read = read_status(&fields);
            assert_eq!(read.as_ref().map(|read| &read.happened), happened.as_ref(), "{status}");
            assert!(read.is_none_or(|read| read.provider_id == "SM1"));
        }
        assert_eq!(read_status(&form(&[("MessageStatus", "sent")])), None);
        assert_eq!(read_status(&[]), None);
    }

    #[test]
    fn what_somebody_wrote_needs_its_sender_and_text() {
        let whole = form(&[
            ("MessageSid", "SM9"),
            ("From", "+4915100000001"),
            ("To", "+4915199999999"),
            ("Body", " Stop "),
        ]);
        let read = read_inbound(&whole).unwrap();
        assert_eq!((read.id.as_str(), read.from.as_str()), ("SM9", "+4915100000001"));
        assert_eq!((read.to.as_str(), read.text.as_str()), ("+4915199999999", " Stop "));
        for missing in 0..whole.len() {
            let mut part = whole.clone();
            part.remove(missing);
            assert_eq!(read_inbound(&part), None);
        }
    }
}
