//! The metrics of this process, read from the text that Prometheus gets.

use std::collections::BTreeMap;

use web::Services;

/// Every sample by its name.
#[derive(Debug, Default)]
pub struct Metrics(BTreeMap<String, Vec<Sample>>);

/// A value with its labels.
#[derive(Debug, Clone, PartialEq)]
struct Sample {
    labels: BTreeMap<String, String>,
    value: f64,
}

/// The distribution of durations, all labels together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Durations {
    pub count: u64,
    /// Half of them took at most so long, in seconds.
    pub median_s: f64,
    /// 99 of 100 took at most so long, in seconds; infinite above the last bound.
    pub p99_s: f64,
}

impl Metrics {
    /// The metrics of now.
    pub fn read(services: &Services) -> Self {
        Self::parse(&services.metrics_text())
    }

    pub fn parse(text: &str) -> Self {
        let mut metrics = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some((name, sample)) = sample(line) {
                metrics.0.entry(name.to_owned()).or_default().push(sample);
            }
        }
        metrics
    }

    /// The buckets and counts of histograms alone.
    #[must_use]
    pub fn histograms(&self) -> Self {
        let is_of_histogram = |name: &str| {
            let base = name.strip_suffix("_count").or_else(|| name.strip_suffix("_bucket"));
            base.is_some_and(|base| self.0.contains_key(&format!("{base}_bucket")))
        };
        let found = self.0.iter().filter(|(name, _)| is_of_histogram(name));
        Self(found.map(|(name, samples)| (name.clone(), samples.clone())).collect())
    }

    /// What was counted since an earlier look.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        for (name, samples) in &mut self.0 {
            let before = earlier.0.get(name).into_iter().flatten();
            let before: BTreeMap<&BTreeMap<String, String>, f64> =
                before.map(|sample| (&sample.labels, sample.value)).collect();
            for sample in samples {
                let value = before.get(&sample.labels).copied().unwrap_or_default();
                sample.value = (sample.value - value).max(0.0);
            }
        }
        self
    }

    /// The sum over all labels; nothing where the metric was not recorded yet.
    pub fn sum(&self, name: &str) -> Option<f64> {
        let samples = self.0.get(name)?;
        Some(samples.iter().map(|sample| sample.value).sum())
    }

    /// The sum for each value of a label.
    pub fn by(&self, name: &str, label: &str) -> BTreeMap<&str, f64> {
        let mut sums = BTreeMap::new();
        for sample in self.0.get(name).into_iter().flatten() {
            if let Some(value) = sample.labels.get(label) {
                *sums.entry(value.as_str()).or_insert(0.0) += sample.value;
            }
        }
        sums
    }

    /// The sum for each pair of values of two labels.
    pub fn by_two(&self, name: &str, labels: [&str; 2]) -> BTreeMap<[&str; 2], f64> {
        let mut sums = BTreeMap::new();
        for sample in self.0.get(name).into_iter().flatten() {
            let [one, other] = labels.map(|label| sample.labels.get(label).map(String::as_str));
            if let (Some(one), Some(other)) = (one, other) {
                *sums.entry([one, other]).or_insert(0.0) += sample.value;
            }
        }
        sums
    }

    /// The distribution of a histogram; nothing while it is empty.
    pub fn durations(&self, name: &str) -> Option<Durations> {
        self.durations_where(name, |_| true)
    }

    /// The distribution of a histogram for one value of a label.
    pub fn durations_of(&self, name: &str, label: &str, value: &str) -> Option<Durations> {
        self.durations_where(name, |labels| labels.get(label).is_some_and(|it| it == value))
    }

    /// The distributions of a histogram for each value of a label.
    pub fn durations_by(&self, name: &str, label: &str) -> BTreeMap<&str, Durations> {
        let values = self.by(&format!("{name}_count"), label);
        let of = |value| Some((value, self.durations_of(name, label, value)?));
        values.into_keys().filter_map(of).collect()
    }

    fn durations_where(
        &self,
        name: &str,
        is_wanted: impl Fn(&BTreeMap<String, String>) -> bool,
    ) -> Option<Durations> {
        let samples = self.0.get(&format!("{name}_bucket"))?;
        let mut bounds: Vec<Bucket> = Vec::new();
        for sample in samples.iter().filter(|sample| is_wanted(&sample.labels)) {
            let bound_s = match sample.labels.get("le").map(String::as_str) {
                Some("+Inf") => f64::INFINITY,
                Some(bound) => bound.parse().ok()?,
                None => continue,
            };
            match bounds.iter_mut().find(|bucket| bucket.bound_s.total_cmp(&bound_s).is_eq()) {
                Some(bucket) => bucket.count += sample.value,
                None => bounds.push(Bucket { bound_s, count: sample.value }),
            }
        }
        bounds.sort_by(|one, other| one.bound_s.total_cmp(&other.bound_s));
        let total = bounds.last().map(|bucket| bucket.count).filter(|total| *total > 0.0)?;
        let quantile = |fraction: f64| {
            let found = bounds.iter().find(|bucket| bucket.count >= total * fraction);
            found.map_or(f64::INFINITY, |bucket| bucket.bound_s)
        };
        Some(Durations { count: whole(total), median_s: quantile(0.5), p99_s: quantile(0.99) })
    }
}

/// The number of values up to a bound.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    bound_s: f64,
    count: f64,
}

/// A count as a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of floats saturate, and counts are not negative"
)]
pub const fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// Reads a line of the text format: `name{label="value",…} number`.
fn sample(line: &str) -> Option<(&str, Sample)> {
    let (described, value) = line.trim().rsplit_once(' ')?;
    let value = value.parse().ok()?;
    let (name, labels) = match described.split_once('{') {
        Some((name, rest)) => (name, labels(rest.strip_suffix('}')?)?),
        None => (described, BTreeMap::new()),
    };
    Some((name, Sample { labels, value }))
}

fn labels(mut text: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = rest.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => match chars.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, other) => value.push(other),
            }
        };
        labels.insert(name.to_owned(), value);
        text = rest.get(end + 1..)?.trim_start_matches(',');
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# TYPE a counter\n\
        a{channel=\"email\",why=\"x \\\"y\\\" }\"} 2\n\
        a{channel=\"sms\",why=\"z\"} 3\n\
        plain 1.5\n\
        broken{ 7\n\
        d_bucket{channel=\"email\",le=\"0.1\"} 50\n\
        d_bucket{channel=\"email\",le=\"1\"} 99\n\
        d_bucket{channel=\"email\",le=\"+Inf\"} 100\n\
        d_bucket{channel=\"sms\",le=\"0.1\"} 0\n\
        d_bucket{channel=\"sms\",le=\"1\"} 100\n\
        d_bucket{channel=\"sms\",le=\"+Inf\"} 100\n\
        d_count{channel=\"email\"} 100\n\
        d_count{channel=\"sms\"} 100\n";

    #[test]
    fn sums_go_over_labels() {
        let metrics = Metrics::parse(TEXT);
        assert_eq!(metrics.sum("a"), Some(5.0));
        assert_eq!(metrics.sum("plain"), Some(1.5));
        assert_eq!(metrics.sum("absent"), None);
        assert_eq!(metrics.by("a", "channel"), [("email", 2.0), ("sms", 3.0)].into());
        assert_eq!(metrics.by("a", "why").keys().next(), Some(&"x \"y\" }"));
        let pairs = [(["email", "x \"y\" }"], 2.0), (["sms", "z"], 3.0)];
        assert_eq!(metrics.by_two("a", ["channel", "why"]), pairs.into());
    }

    #[test]
    fn distributions_are_read_from_their_bounds() {
        let metrics = Metrics::parse(TEXT);
        let all = metrics.durations("d").unwrap();
        assert_eq!(all, Durations { count: 200, median_s: 1.0, p99_s: 1.0 });
        let by = metrics.durations_by("d", "channel");
        assert_eq!(by["email"], Durations { count: 100, median_s: 0.1, p99_s: 1.0 });
        assert_eq!(by["sms"], Durations { count: 100, median_s: 1.0, p99_s: 1.0 });
        assert_eq!(metrics.durations("plain"), None);
    }
}
