//! Forest plots: effects with their intervals, drawn by the server, with the same numbers in a table behind them.

use maud::{Markup, html};

use super::{
    numbers::percent,
    table::{Column, table},
};

/// Where the axis begins and ends, in hundredths of the width: the drawing is as wide as there is room, and its texts keep
/// their size.
const LEFT: f64 = 2.0;
const RIGHT: f64 = 98.0;
/// Pixels above the rows, for the value of no effect.
const HEAD: f64 = 20.0;
/// Pixels of a row: its name, and its interval below.
const ROW: f64 = 44.0;
/// Pixels below the rows, for the ends of the axis.
const FOOT: f64 = 20.0;
/// Characters of a name that fit on a phone.
const NAME_CHARS: usize = 40;

/// An effect, and where it lies.
#[derive(Debug, Clone)]
pub struct Effect {
    pub name: String,
    pub value: f64,
    pub lower: f64,
    pub upper: f64,
}

/// Effects as shares, one below the other, around a line of no effect.
pub fn forest(title: &str, none: f64, effects: &[Effect]) -> Markup {
    let scale = Scale::of(none, effects);
    #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
    let axis = HEAD + ROW * effects.len() as f64;
    let at_none = percentage(scale.at(none));
    html! {
        figure class="forest" {
            svg height=(axis + FOOT) role="img" aria-label=(title) {
                line class="forest-none" x1=(at_none) x2=(at_none) y1=(HEAD) y2=(axis) {}
                text class="forest-axis" x=(at_none) y="12" text-anchor=(scale.anchor(none)) { (percent(none)) }
                @for (index, effect) in effects.iter().enumerate() { (row(&scale, index, effect)) }
                @for (end, anchor) in [(scale.from, "start"), (scale.to, "end")] {
                    // No effect has its label at the top.
                    @if percent(end) != percent(none) {
                        text class="forest-axis" x=(percentage(scale.at(end))) y=(axis + FOOT - 6.0) text-anchor=(anchor) {
                            (percent(end))
                        }
                    }
                }
            }
            details class="chart-data" {
                summary { "Show data" }
                (data(title, effects))
            }
        }
    }
}

fn row(scale: &Scale, index: usize, effect: &Effect) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
    let top = HEAD + ROW * index as f64;
    let y = top + 30.0;
    let name: String = effect.name.chars().take(NAME_CHARS).collect();
    let is_short = name.len() == effect.name.len();
    let at = |value: f64| percentage(scale.at(value));
    html! {
        text class="forest-name" x="0" y=(top + 16.0) { (name) @if !is_short { "…" } }
        line class="forest-interval" x1=(at(effect.lower)) x2=(at(effect.upper)) y1=(y) y2=(y) {}
        circle class="forest-value" cx=(at(effect.value)) cy=(y) r="5" {}
    }
}

/// A position as the drawing has it.
fn percentage(hundredths: f64) -> String {
    format!("{hundredths}%")
}

fn data(title: &str, effects: &[Effect]) -> Markup {
    let columns =
        [Column::text("Of"), Column::number("Value"), Column::number("From"), Column::number("To")];
    let row = |effect: &Effect| {
        let number = |value: f64| html! { (percent(value)) };
        vec![
            html! { bdi { (effect.name) } },
            number(effect.value),
            number(effect.lower),
            number(effect.upper),
        ]
    };
    let rows: Vec<Vec<Markup>> = effects.iter().map(row).collect();
    table(title, &columns, &rows)
}

/// From a share to a position in the drawing, in hundredths of its width.
struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    fn of(none: f64, effects: &[Effect]) -> Self {
        let ends = effects.iter().flat_map(|it| [it.lower, it.value, it.upper]);
        let (from, to) = ends
            .filter(|end| end.is_finite())
            .fold((none, none), |(from, to), end| (from.min(end), to.max(end)));
        if to > from { Self { from, to } } else { Self { from: from - 0.01, to: to + 0.01 } }
    }

    fn at(&self, value: f64) -> f64 {
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        ((LEFT + share * (RIGHT - LEFT)) * 10.0).round() / 10.0
    }

    /// How a label stands at a value, so that none of it lies outside.
    fn anchor(&self, value: f64) -> &'static str {
        match self.at(value) {
            ..15.0 => "start",
            ..85.0 => "middle",
            _ => "end",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(value: f64, lower: f64, upper: f64) -> Effect {
        Effect { name: "<b>".to_owned(), value, lower, upper }
    }

    #[test]
    fn ends_of_the_axis_are_the_widest_interval() {
        let scale = Scale::of(0.0, &[effect(0.1, -0.1, 0.3), effect(0.0, 0.0, f64::INFINITY)]);
        let near =
            |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.06, "{found} {wanted}");
        near(scale.at(-0.1), LEFT);
        near(scale.at(0.3), RIGHT);
        near(scale.at(0.1), f64::midpoint(LEFT, RIGHT));
        near(scale.at(f64::INFINITY), RIGHT);
        near(Scale::of(0.0, &[]).at(0.0), f64::midpoint(LEFT, RIGHT));
        assert!(!forest("t", 0.0, &[effect(0.1, 0.0, 0.2)]).0.contains("<b>"));
    }

    #[test]
    fn labels_lie_apart() {
        let labels = |none: f64, value: f64, lower: f64, upper: f64| {
            let drawn = forest("t", none, &[effect(value, lower, upper)]).0;
            let drawn = drawn.split("<details").next().unwrap_or_default().to_owned();
            let texts = drawn.split("class=\"forest-axis\"").skip(1);
            texts.map(|it| it.split('<').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        // The value of no effect stands above the others, however near they are.
        let found = labels(0.0, -0.1, -0.24, 0.01);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("y=\"12\" text-anchor=\"end\">0.0 %"), "{found:?}");
        assert!(found[1].contains("y=\"78\" text-anchor=\"start\">-24.0 %"), "{found:?}");
        assert!(found[2].contains("y=\"78\" text-anchor=\"end\">1.0 %"), "{found:?}");
        // It is there once where it is an end.
        let found = labels(0.0, 0.1, 0.0, 0.2);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("text-anchor=\"start\">0.0 %"), "{found:?}");
    }
}
