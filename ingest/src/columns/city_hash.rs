//! CityHash64 of version 1.0.2, which is ClickHouse's `cityHash64` of one string.
//!
//! The table's key ends with it. Rows that arrive in exactly the key's order are not sorted again
//! by ClickHouse, so the value must be the same, not just as good. Source: Google's CityHash 1.0.2,
//! `city.cc` (MIT), as contained in ClickHouse (`contrib/cityhash102`).

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;
const MULTIPLIER: u64 = 0x9ddf_ea08_eb38_2d69;

/// The hash of `bytes`.
pub(super) fn city_hash_64(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0..=16 => up_to_16(bytes),
        17..=32 => up_to_32(bytes),
        33..=64 => up_to_64(bytes),
        _ => longer(bytes),
    }
}

/// Eight bytes at `at`, little-endian; every caller stays inside.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk::<8>())
        .map_or(0, |word| u64::from_le_bytes(*word))
}

fn half_word(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk::<4>())
        .map_or(0, |word| u64::from(u32::from_le_bytes(*word)))
}

fn shift_mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

fn hash_16(low: u64, high: u64) -> u64 {
    let first = shift_mix((low ^ high).wrapping_mul(MULTIPLIER));
    let second = shift_mix((high ^ first).wrapping_mul(MULTIPLIER));
    second.wrapping_mul(MULTIPLIER)
}

fn up_to_16(bytes: &[u8]) -> u64 {
    let length = bytes.len() as u64;
    match bytes {
        [] => K2,
        [first, ..] if length < 4 => {
            let middle = bytes[bytes.len() / 2];
            let last = bytes[bytes.len() - 1];
            let low = u64::from(*first) + (u64::from(middle) << 8);
            let high = length + (u64::from(last) << 2);
            shift_mix(low.wrapping_mul(K2) ^ high.wrapping_mul(K3)).wrapping_mul(K2)
        }
        _ if length <= 8 => {
            hash_16(length + (half_word(bytes, 0) << 3), half_word(bytes, bytes.len() - 4))
        }
        _ => {
            let last = word(bytes, bytes.len() - 8);
            let turned = last
                .wrapping_add(length)
                .rotate_right(u32::try_from(bytes.len()).unwrap_or_default());
            hash_16(word(bytes, 0), turned) ^ last
        }
    }
}

fn up_to_32(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let first = word(bytes, 0).wrapping_mul(K1);
    let second = word(bytes, 8);
    let third = word(bytes, length - 8).wrapping_mul(K2);
    let fourth = word(bytes, length - 16).wrapping_mul(K0);
    hash_16(
        first
            .wrapping_sub(second)
            .rotate_right(43)
            .wrapping_add(third.rotate_right(30))
            .wrapping_add(fourth),
        first
            .wrapping_add((second ^ K3).rotate_right(20))
            .wrapping_sub(third)
            .wrapping_add(length as u64),
    )
}

fn up_to_64(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let half = |start: u64, words: [u64; 3]| {
        let [second, third, last] = words;
        let turned = start.wrapping_add(last).rotate_right(52);
        let mut sum = start.rotate_right(37);
        let start = start.wrapping_add(second);
        sum = sum.wrapping_add(start.rotate_right(7));
        let start = start.wrapping_add(third);
        let first = start.wrapping_add(last);
        (first, turned.wrapping_add(start.rotate_right(31)).wrapping_add(sum))
    };
    let from_end = |distance: usize| word(bytes, length - distance);
    let start =
        word(bytes, 0).wrapping_add((length as u64).wrapping_add(from_end(16)).wrapping_mul(K0));
    let front = half(start, [word(bytes, 8), word(bytes, 16), word(bytes, 24)]);
    let start = word(bytes, 16).wrapping_add(from_end(32));
    let back = half(start, [from_end(24), from_end(16), from_end(8)]);
    let mixed = shift_mix(
        front
            .0
            .wrapping_add(back.1)
            .wrapping_mul(K2)
            .wrapping_add(back.0.wrapping_add(front.1).wrapping_mul(K0)),
    );
    shift_mix(mixed.wrapping_mul(K0).wrapping_add(front.1)).wrapping_mul(K2)
}

/// A weak hash of 32 bytes at `at`.
fn weak_32(bytes: &[u8], at: usize, first: u64, second: u64) -> (u64, u64) {
    let first = first.wrapping_add(word(bytes, at));
    let last = word(bytes, at + 24);
    let second = second.wrapping_add(first).wrapping_add(last).rotate_right(21);
    let before = first;
    let first = first.wrapping_add(word(bytes, at + 8)).wrapping_add(word(bytes, at + 16));
    let second = second.wrapping_add(first.rotate_right(44));
    (first.wrapping_add(last), second.wrapping_add(before))
}

#[expect(clippy::many_single_char_names, reason = "the source's names")]
fn longer(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let mut x = word(bytes, 0);
    let mut y = word(bytes, length - 16) ^ K1;
    let mut z = word(bytes, length - 56) ^ K0;
    let mut v = weak_32(bytes, length - 64, length as u64, y);
    let mut w = weak_32(bytes, length - 32, (length as u64).wrapping_mul(K1), K0);
    z = z.wrapping_add(shift_mix(v.1).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    for at in (0..(length - 1) & !63).step_by(64) {
        x = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(word(bytes, at + 16));
        x = x.rotate_right(37).wrapping_mul(K1);
        y = y.wrapping_add(v.1).wrapping_add(word(bytes, at + 48));
        y = y.rotate_right(42).wrapping_mul(K1);
        x ^= w.1;
        y ^= v.0;
        z = (z ^ w.0).rotate_right(33);
        v = weak_32(bytes, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak_32(bytes, at + 32, z.wrapping_add(w.1), y);
        std::mem::swap(&mut z, &mut x);
    }
    let low = hash_16(v.0, w.0).wrapping_add(shift_mix(y).wrapping_mul(K1)).wrapping_add(z);
    let high = hash_16(v.1, w.1).wrapping_add(x);
    hash_16(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SELECT cityHash64(substring(repeat('The quick brown fox ', 10), 1, n))` of ClickHouse 26.7.
    const EXPECTED: [(usize, u64); 20] = [
        (0, 11_160_318_154_034_397_263),
        (1, 5_570_910_369_516_329_963),
        (3, 9_456_065_179_546_978_676),
        (4, 7_426_151_758_103_449_081),
        (7, 12_915_914_661_088_991_145),
        (8, 8_261_970_815_632_334_399),
        (9, 15_693_689_613_497_209_625),
        (16, 3_887_581_654_433_788_716),
        (17, 17_248_679_875_317_671_279),
        (31, 10_773_699_593_531_790_388),
        (32, 10_921_916_112_864_457_179),
        (33, 14_491_992_313_494_269_314),
        (36, 13_470_277_689_531_256_674),
        (63, 7_461_353_417_595_422_119),
        (64, 10_655_771_886_393_458_792),
        (65, 8_864_835_166_981_462_101),
        (128, 15_369_565_788_523_280_646),
        (129, 9_583_588_986_191_615_012),
        (191, 18_054_054_478_884_692_697),
        (200, 16_941_905_160_627_664_940),
    ];

    #[test]
    fn hashes_are_those_of_clickhouse() {
        let text = "The quick brown fox ".repeat(10);
        for (length, expected) in EXPECTED {
            assert_eq!(city_hash_64(&text.as_bytes()[..length]), expected, "{length} bytes");
        }
    }
}
