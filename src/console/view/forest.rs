//! Forest plots: effects with their intervals, drawn by the server, with the same numbers in a table behind them.

use maud::{Markup, html};

use super::{
    numbers::percent,
    table::{Column, table},
};

/// Width of the drawing, in its own units.
const WIDTH: f64 = 640.0;
/// Where the axis begins; names stand before it.
const LEFT: f64 = 180.0;
const RIGHT: f64 = 620.0;
const ROW: f64 = 34.0;
/// Characters of a name that fit before the axis.
const NAME_CHARS: usize = 22;

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
    let height = ROW * (effects.len() as f64 + 1.0);
    let axis = height - ROW * 0.6;
    html! {
        figure class="forest" {
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(title) {
                line class="forest-none" x1=(scale.at(none)) x2=(scale.at(none)) y1="0" y2=(axis) {}
                @for (index, effect) in effects.iter().enumerate() { (row(&scale, index, effect)) }
                @for (value, anchor) in [(scale.from, "start"), (none, "middle"), (scale.to, "end")] {
                    text class="forest-axis" x=(scale.at(value)) y=(height - 4.0) text-anchor=(anchor) {
                        (percent(value))
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
    let y = ROW * (index as f64 + 0.5);
    let name: String = effect.name.chars().take(NAME_CHARS).collect();
    let is_short = name.len() == effect.name.len();
    html! {
        text class="forest-name" x="0" y=(y + 4.0) { (name) @if !is_short { "…" } }
        line class="forest-interval" x1=(scale.at(effect.lower)) x2=(scale.at(effect.upper)) y1=(y) y2=(y) {}
        circle class="forest-value" cx=(scale.at(effect.value)) cy=(y) r="5" {}
    }
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

/// From a share to a position in the drawing.
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
}
