//! Message encryption for Web Push: RFC 8291, in the content coding `aes128gcm` of RFC 8188.

use aws_lc_rs::{aead, hkdf};
use base64::Engine as _;
use p256::{PublicKey, SecretKey, ecdh::diffie_hellman, elliptic_curve::sec1::ToEncodedPoint as _};

use super::BASE64URL;
use crate::model::Device;

/// Bytes of a record, and so of everything: RFC 8291 4 allows one, and services take 4096.
const RECORD_BYTES: u32 = 4_096;
/// Bytes of the salt.
const SALT_BYTES: usize = 16;
/// Bytes of an uncompressed point.
const POINT_BYTES: usize = 65;
/// Bytes before the record: salt, record size, length of the key, the key.
const HEAD_BYTES: usize = SALT_BYTES + 4 + 1 + POINT_BYTES;
/// Bytes of the browser's secret.
const AUTH_BYTES: usize = 16;
/// Bytes that a message may have: those of the record without the head, the delimiter and the tag.
pub(super) const PLAIN_BYTES_MAX: usize = RECORD_BYTES as usize - HEAD_BYTES - 1 - 16;

/// The keys of a browser's subscription.
pub(super) struct Subscription {
    key: PublicKey,
    auth: [u8; AUTH_BYTES],
}

impl Subscription {
    /// The keys of a device, if they are keys.
    pub(super) fn read(device: &Device) -> Option<Self> {
        let key = BASE64URL.decode(device.p256dh.as_deref()?).ok()?;
        let auth = BASE64URL.decode(device.auth.as_deref()?).ok()?;
        Some(Self { key: PublicKey::from_sec1_bytes(&key).ok()?, auth: auth.try_into().ok()? })
    }
}

/// Encrypts a message for a browser; none where it is longer than [`PLAIN_BYTES_MAX`].
pub(super) fn encrypt(plain: &[u8], subscription: &Subscription) -> Option<Vec<u8>> {
    encrypt_with(plain, subscription, &secret(), rand::random())
}

/// A key for one message.
fn secret() -> SecretKey {
    loop {
        // All but a few numbers of 32 bytes are keys.
        if let Ok(secret) = SecretKey::from_slice(&rand::random::<[u8; 32]>()) {
            return secret;
        }
    }
}

fn encrypt_with(
    plain: &[u8],
    subscription: &Subscription,
    secret: &SecretKey,
    salt: [u8; SALT_BYTES],
) -> Option<Vec<u8>> {
    if plain.len() > PLAIN_BYTES_MAX {
        return None;
    }
    let (ours, theirs) = (point(&secret.public_key()), point(&subscription.key));
    let shared = diffie_hellman(secret.to_nonzero_scalar(), subscription.key.as_affine());
    // RFC 8291 3.4: the input keying material out of both keys and the browser's secret.
    let mut material = [0; 32];
    hkdf::Salt::new(hkdf::HKDF_SHA256, &subscription.auth)
        .extract(shared.raw_secret_bytes())
        .expand(&[b"WebPush: info\0", &theirs, &ours], hkdf::HKDF_SHA256)
        .and_then(|okm| okm.fill(&mut material))
        .ok()?;
    // RFC 8188 2.2 and 2.3: the key of the content, and the nonce of its first record.
    let pseudorandom = hkdf::Salt::new(hkdf::HKDF_SHA256, &salt).extract(&material);
    let key = pseudorandom.expand(&[b"Content-Encoding: aes128gcm\0"], &aead::AES_128_GCM).ok()?;
    let mut nonce = [0; aead::NONCE_LEN];
    pseudorandom
        .expand(&[b"Content-Encoding: nonce\0"], NonceLength)
        .and_then(|okm| okm.fill(&mut nonce))
        .ok()?;
    let mut record = Vec::with_capacity(plain.len() + 1 + aead::AES_128_GCM.tag_len());
    record.extend_from_slice(plain);
    // The delimiter of the last record.
    record.push(2);
    aead::LessSafeKey::new(aead::UnboundKey::from(key))
        .seal_in_place_append_tag(
            aead::Nonce::assume_unique_for_key(nonce),
            aead::Aad::empty(),
            &mut record,
        )
        .ok()?;
    let mut body = Vec::with_capacity(HEAD_BYTES + record.len());
    body.extend_from_slice(&salt);
    body.extend_from_slice(&RECORD_BYTES.to_be_bytes());
    body.push(u8::try_from(POINT_BYTES).expect("65 is a byte"));
    body.extend_from_slice(&ours);
    body.append(&mut record);
    Some(body)
}

/// A public key as RFC 8291 writes it: an uncompressed point.
fn point(key: &PublicKey) -> Vec<u8> {
    key.to_encoded_point(false).as_bytes().to_vec()
}

struct NonceLength;

impl hkdf::KeyType for NonceLength {
    fn len(&self) -> usize {
        aead::NONCE_LEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Platform;

    fn device(p256dh: &str, auth: &str) -> Device {
        Device {
            token: "https://push.example.test/1".to_owned(),
            platform: Platform::Web,
            p256dh: Some(p256dh.to_owned()),
            auth: Some(auth.to_owned()),
        }
    }

    const KEY: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

    #[test]
    fn the_example_of_rfc_8291_comes_out_byte_for_byte() {
        let subscription = Subscription::read(&device(KEY, AUTH)).unwrap();
        let secret = BASE64URL.decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw").unwrap();
        let secret = SecretKey::from_slice(&secret).unwrap();
        let salt = BASE64URL.decode("DGv6ra1nlYgDCS1FRnbzlw").unwrap().try_into().unwrap();
        let plain = b"When I grow up, I want to be a watermelon";
        let body = encrypt_with(plain, &subscription, &secret, salt).unwrap();
        assert_eq!(
            BASE64URL.encode(body),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc\
             InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLV\
             WGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn a_message_fits_the_record_or_is_refused() {
        let subscription = Subscription::read(&device(KEY, AUTH)).unwrap();
        let longest = vec![b'x'; PLAIN_BYTES_MAX];
        assert_eq!(encrypt(&longest, &subscription).unwrap().len(), RECORD_BYTES as usize);
        assert_eq!(encrypt(&[longest, vec![b'x']].concat(), &subscription), None);
    }

    #[test]
    fn no_two_messages_are_encrypted_alike() {
        let subscription = Subscription::read(&device(KEY, AUTH)).unwrap();
        assert_ne!(encrypt(b"x", &subscription), encrypt(b"x", &subscription));
    }

    #[test]
    fn keys_that_are_none_are_found_out() {
        for (p256dh, auth) in [
            ("", AUTH),
            ("BCVx", AUTH),
            ("no base64!", AUTH),
            (KEY, ""),
            (KEY, "BTBZ"),
            // Not on the curve.
            (&format!("BA{}", "A".repeat(85)), AUTH),
        ] {
            assert!(Subscription::read(&device(p256dh, auth)).is_none(), "{p256dh} {auth}");
        }
        assert!(Subscription::read(&device(&format!("{KEY}="), &format!("{AUTH}=="))).is_some());
        let bare = Device { p256dh: None, ..device(KEY, AUTH) };
        assert!(Subscription::read(&bare).is_none());
    }
}
