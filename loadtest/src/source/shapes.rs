//! What synthetic events look like: a shop's and a product's everyday events, about 336 bytes each.

use std::fmt::Write;

use super::dice::Dice;

/// Event names with their share in percent.
const NAMES: [(&str, u64); 8] = [
    ("Page Viewed", 38),
    ("Product Viewed", 25),
    ("Added To Cart", 12),
    ("Feature Used", 9),
    ("Search Performed", 7),
    ("Order Completed", 5),
    ("Signup Completed", 2),
    ("Trial Started", 2),
];

const PAGES: [&str; 6] =
    ["home", "pricing", "collections/kitchen", "journal/autumn", "help/returns", "stores"];
const PRODUCTS: [&str; 6] = [
    "White Hanging Heart Candle Holder",
    "Regency Cakestand 3 Tier",
    "Jumbo Bag Red Retrospot",
    "Assorted Colour Bird Ornament",
    "Party Bunting",
    "Kettle, Brushed Steel 1.7 L",
];
const CATEGORIES: [&str; 5] = ["kitchen", "garden", "lighting", "gifts", "stationery"];
const REFERRERS: [&str; 4] = ["search.example", "newsletter", "social.example", "direct"];
const PLATFORMS: [&str; 3] = ["web", "ios", "android"];
const FEATURES: [&str; 4] = ["export-csv", "saved-search", "wish-list", "price-alert"];
const PLANS: [&str; 3] = ["starter", "team", "business"];

/// Placeholder widths; the generator writes numbers of exactly these widths over them.
pub(super) const NUMBER_WIDTH: usize = 12;
pub(super) const USER_WIDTH: usize = 7;
pub(super) const TIMESTAMP_WIDTH: usize = 24;

/// Where the parts that differ from event to event stand in a template, as byte offsets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// The number in `clientEventId`.
    pub(super) number: usize,
    /// The number in `userId` or `anonymousId`.
    pub(super) user: usize,
    /// The timestamp's text; `None` when the server is to stamp.
    pub(super) timestamp: Option<usize>,
    /// The number in `orderId`, of an order.
    pub(super) order: Option<usize>,
    /// One past the event's last byte.
    pub(super) end: usize,
}

/// Appends one event with placeholders in place of its own numbers.
pub(super) fn write_event(out: &mut String, dice: &mut Dice, prefix: &str, stamped: bool) -> Slot {
    let mut slot = Slot::default();
    let name = pick_name(dice);
    let user = dice.below(1_000_000);
    // One visitor in eight is not signed in.
    let identifier =
        if dice.below(8) == 0 { "{\"anonymousId\":\"visitor-" } else { "{\"userId\":\"customer-" };
    out.push_str(identifier);
    slot.user = out.len();
    push_zeros(out, USER_WIDTH);
    put(out, format_args!("\",\"eventName\":\"{name}\""));
    if stamped {
        out.push_str(",\"timestamp\":\"");
        slot.timestamp = Some(out.len());
        out.push_str("2000-01-01T00:00:00.000Z\"");
    }
    put(out, format_args!(",\"clientEventId\":\"{prefix}"));
    slot.number = out.len();
    push_zeros(out, NUMBER_WIDTH);
    put(
        out,
        format_args!(
            "\",\"sessionId\":\"s-{:08x}\",\"deviceId\":\"d-{user:06}\"",
            dice.below(1 << 32)
        ),
    );
    out.push_str(",\"properties\":{");
    slot.order = write_properties(out, dice, name);
    put(out, format_args!(",\"$platform\":\"{}\"}}}}", dice.pick(&PLATFORMS)));
    slot.end = out.len();
    slot
}

/// Every event name a generator sends.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

fn pick_name(dice: &mut Dice) -> &'static str {
    let mut roll = dice.below(NAMES.iter().map(|(_, share)| share).sum());
    for (name, share) in NAMES {
        if roll < share {
            return name;
        }
        roll -= share;
    }
    NAMES[0].0
}

/// Appends the properties of an event without the braces; the answer is where an order's number stands.
fn write_properties(out: &mut String, dice: &mut Dice, name: &str) -> Option<usize> {
    match name {
        "Page Viewed" => page_viewed(out, dice),
        "Product Viewed" | "Added To Cart" => product(out, dice),
        "Feature Used" => feature_used(out, dice),
        "Search Performed" => search_performed(out, dice),
        "Order Completed" => return Some(order_completed(out, dice)),
        _ => sign_up(out, dice),
    }
    None
}

fn page_viewed(out: &mut String, dice: &mut Dice) {
    let (page, referrer) = (dice.pick(&PAGES), dice.pick(&REFERRERS));
    let (load_ms, width, height) =
        (dice.below(2_000), 320 + dice.below(1_600), 480 + dice.below(900));
    put(
        out,
        format_args!(
            r#""path":"/{page}","title":"{page} | The Corner Shop","referrer":"{referrer}""#
        ),
    );
    put(
        out,
        format_args!(r#","loadMs":{load_ms},"viewport":{{"width":{width},"height":{height}}}"#),
    );
}

fn product(out: &mut String, dice: &mut Dice) {
    let (product, category, price) = (dice.pick(&PRODUCTS), dice.pick(&CATEGORIES), price(dice));
    let (sku, quantity) = (10_000 + dice.below(90_000), 1 + dice.below(12));
    put(out, format_args!(r#""sku":"{sku}","name":"{product}","category":"{category}""#));
    put(out, format_args!(r#","unitPrice":{price},"quantity":{quantity},"currency":"GBP""#));
}

fn feature_used(out: &mut String, dice: &mut Dice) {
    let (feature, plan, beta) = (dice.pick(&FEATURES), dice.pick(&PLANS), dice.below(2) == 0);
    let (duration_ms, seats) = (dice.below(90_000), 1 + dice.below(40));
    put(out, format_args!(r#""feature":"{feature}","durationMs":{duration_ms}"#));
    put(out, format_args!(r#","plan":"{plan}","seats":{seats},"beta":{beta}"#));
}

fn search_performed(out: &mut String, dice: &mut Dice) {
    let (query, category) = (dice.pick(&PRODUCTS).to_lowercase(), dice.pick(&CATEGORIES));
    let (results, max_price, took_ms) = (dice.below(400), 1 + dice.below(120), dice.below(300));
    put(out, format_args!(r#""query":"{query}","results":{results},"tookMs":{took_ms}"#));
    put(out, format_args!(r#","filters":{{"category":"{category}","maxPrice":{max_price}}}"#));
}

fn order_completed(out: &mut String, dice: &mut Dice) -> usize {
    out.push_str(r#""orderId":"lo-"#);
    let order = out.len();
    push_zeros(out, NUMBER_WIDTH);
    let (total, lines, shipping) = (price(dice), 1 + dice.below(9), dice.below(9));
    put(out, format_args!(r#"","total":{total},"currency":"GBP","lines":{lines}"#));
    put(out, format_args!(r#","shipping":{{"method":"standard","cost":{shipping}.5}}"#));
    order
}

fn sign_up(out: &mut String, dice: &mut Dice) {
    let (plan, source) = (dice.pick(&PLANS), dice.pick(&REFERRERS));
    let (campaign, days) = (dice.below(40), 7 * (1 + dice.below(4)));
    put(out, format_args!(r#""plan":"{plan}","source":"{source}""#));
    put(out, format_args!(r#","campaign":"autumn-{campaign}","trialDays":{days}"#));
}

fn price(dice: &mut Dice) -> String {
    format!("{}.{:02}", 1 + dice.below(120), dice.below(100))
}

fn put(out: &mut String, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("writing to a String does not fail");
}

fn push_zeros(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n('0', count));
}
