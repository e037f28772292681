//! Synthetic events: bodies are made once as templates, and only ids, users and times are written per request.

use std::sync::Arc;

use anyhow::{Result, ensure};
use bytes::Bytes;

use super::{
    Batch, BatchIds, EVENTS_PER_REQUEST_MAX, EventSource,
    dice::{Dice, mix, scale},
    shapes::{self, NUMBER_WIDTH, Slot, TIMESTAMP_WIDTH, USER_WIDTH},
};

/// Distinct events among all templates; beyond it only ids, users and times differ.
const DISTINCT_EVENTS: usize = 16_384;
/// Most users that fit the user number's width.
const USERS_MAX: u64 = 9_999_999;
const DAY_MS: i64 = 86_400_000;

#[derive(Clone, Debug)]
pub struct GeneratorOptions {
    /// Everything but the run's name and base time follows from this.
    pub seed: u64,
    /// Name of the run, part of every event id, so that two runs do not collide.
    pub run: String,
    /// Events in a request; 1 posts a single object instead of an array.
    pub batch: usize,
    /// Events in all; `None` for no end.
    pub events: Option<u64>,
    /// Number of distinct users.
    pub users: u64,
    /// Whether events carry a `timestamp`.
    pub timestamps: bool,
    /// Newest possible timestamp, milliseconds since the epoch.
    pub until_ms: i64,
    /// Timestamps lie evenly in this many milliseconds before `until_ms`.
    pub span_ms: i64,
}

impl Default for GeneratorOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            run: "run".to_owned(),
            batch: EVENTS_PER_REQUEST_MAX,
            events: None,
            users: 100_000,
            timestamps: true,
            until_ms: crate::clock::now_ms(),
            span_ms: DAY_MS,
        }
    }
}

#[derive(Debug)]
struct Template {
    body: Vec<u8>,
    slots: Vec<Slot>,
}

/// Synthetic events by the rules of its options.
#[derive(Debug)]
pub struct Generator {
    options: GeneratorOptions,
    prefix: Arc<str>,
    templates: Vec<Template>,
    days: DayTexts,
}

impl Generator {
    /// Makes the templates.
    ///
    /// # Errors
    /// Options out of their range.
    pub fn new(options: GeneratorOptions) -> Result<Self> {
        ensure!(
            (1..=EVENTS_PER_REQUEST_MAX).contains(&options.batch),
            "a request holds 1 to {EVENTS_PER_REQUEST_MAX} events"
        );
        ensure!(
            (1..=USERS_MAX).contains(&options.users),
            "users must be between 1 and {USERS_MAX}"
        );
        ensure!(options.span_ms >= 1, "the time span must be positive");
        ensure!(
            !options.run.is_empty() && options.run.bytes().all(|b| b.is_ascii_alphanumeric()),
            "the run's name is letters and digits"
        );
        let prefix = format!("lt-{}-", options.run);
        let mut dice = Dice::new(options.seed);
        let all = options.events.and_then(|events| usize::try_from(events).ok());
        let distinct = all.unwrap_or(DISTINCT_EVENTS).clamp(1, DISTINCT_EVENTS);
        let templates = (0..distinct.div_ceil(options.batch))
            .map(|_| template(&options, &prefix, &mut dice))
            .collect();
        let days = DayTexts::new(options.until_ms - options.span_ms, options.until_ms);
        Ok(Self { prefix: prefix.into(), templates, days, options })
    }

    /// Every event name it sends.
    pub fn event_names() -> Vec<&'static str> {
        shapes::names().collect()
    }

    /// What stands before the number in its event ids.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    fn patch(&self, body: &mut [u8], slot: &Slot, number: u64) {
        let options = &self.options;
        put_digits(&mut body[slot.number..slot.number + NUMBER_WIDTH], number);
        let bits = mix(options.seed ^ mix(number));
        // A square puts more weight on low numbers: a few users do much, most do little.
        let share = scale(bits, 1 << 31);
        let user = scale(share * share * 4, options.users);
        put_digits(&mut body[slot.user..slot.user + USER_WIDTH], user);
        if let Some(at) = slot.timestamp {
            let span = u64::try_from(options.span_ms).unwrap_or(1);
            let back = i64::try_from(scale(mix(bits), span)).unwrap_or(0);
            self.days.put(&mut body[at..at + TIMESTAMP_WIDTH], options.until_ms - back);
        }
        if let Some(at) = slot.order {
            put_digits(&mut body[at..at + NUMBER_WIDTH], number);
        }
    }
}

impl EventSource for Generator {
    fn batches(&self) -> Option<u64> {
        self.options.events.map(|events| events.div_ceil(self.options.batch as u64))
    }

    fn events(&self) -> Option<u64> {
        self.options.events
    }

    fn batch(&self, number: u64) -> Option<Batch> {
        let per_batch = self.options.batch as u64;
        let first = number.checked_mul(per_batch)?;
        let left = self.options.events.map_or(per_batch, |events| events.saturating_sub(first));
        let count = usize::try_from(left.min(per_batch)).ok().filter(|count| *count > 0)?;
        let chosen = mix(self.options.seed ^ number) % self.templates.len() as u64;
        let template = &self.templates[usize::try_from(chosen).ok()?];
        let slots = &template.slots[..count];
        let mut body = template.body[..slots[count - 1].end].to_vec();
        for (slot, event) in slots.iter().zip(first..) {
            self.patch(&mut body, slot, event);
        }
        if self.options.batch > 1 {
            body.push(b']');
        }
        let numbers = first..first + count as u64;
        let ids = BatchIds::Range { prefix: Arc::clone(&self.prefix), numbers };
        Some(Batch { body: Bytes::from(body), events: count, ids })
    }
}

fn template(options: &GeneratorOptions, prefix: &str, dice: &mut Dice) -> Template {
    let mut text = String::new();
    let mut slots = Vec::with_capacity(options.batch);
    for index in 0..options.batch {
        if options.batch > 1 {
            text.push(if index == 0 { '[' } else { ',' });
        }
        slots.push(shapes::write_event(&mut text, dice, prefix, options.timestamps));
    }
    Template { body: text.into_bytes(), slots }
}

/// Writes a decimal number over the whole of `out`, with leading zeros.
fn put_digits(out: &mut [u8], mut number: u64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

/// The dates of a span of days as text, so that a timestamp costs no calendar arithmetic.
#[derive(Debug)]
struct DayTexts {
    first_day: i64,
    texts: Vec<[u8; 10]>,
}

impl DayTexts {
    fn new(from_ms: i64, until_ms: i64) -> Self {
        let first_day = from_ms.div_euclid(DAY_MS);
        let texts = (first_day..=until_ms.div_euclid(DAY_MS))
            .map(|day| {
                let text = crate::clock::rfc3339(day * DAY_MS);
                let mut date = [b'0'; 10];
                date.copy_from_slice(&text.as_bytes()[..10]);
                date
            })
            .collect();
        Self { first_day, texts }
    }

    /// Writes `YYYY-MM-DDTHH:MM:SS.mmmZ` over `out`, which holds the punctuation already.
    fn put(&self, out: &mut [u8], ms: i64) {
        let day = usize::try_from(ms.div_euclid(DAY_MS) - self.first_day).unwrap_or(0);
        let of_day = u64::try_from(ms.rem_euclid(DAY_MS)).unwrap_or(0);
        out[..10].copy_from_slice(&self.texts[day.min(self.texts.len() - 1)]);
        put_digits(&mut out[11..13], of_day / 3_600_000);
        put_digits(&mut out[14..16], of_day / 60_000 % 60);
        put_digits(&mut out[17..19], of_day / 1_000 % 60);
        put_digits(&mut out[20..23], of_day % 1_000);
    }
}
