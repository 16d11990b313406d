//! An even sample of a stream of unknown length.
//!
//! Keeps every page at first. Whenever there are twice as many as wanted, drops every second one, and from then on
//! takes only every second, fourth, eighth page. So the sample is spread evenly over the whole stream, in its order,
//! and the same stream gives the same sample.

/// Keeps between `wanted` and twice as many items, or all of a shorter stream.
#[derive(Clone, Debug)]
pub struct EvenSample<T> {
    wanted: usize,
    every: u64,
    seen: u64,
    kept: Vec<T>,
}

impl<T> EvenSample<T> {
    /// Keeps at least `wanted` items; 0 counts as 1.
    pub fn new(wanted: usize) -> Self {
        Self { wanted: wanted.max(1), every: 1, seen: 0, kept: Vec::new() }
    }

    /// Takes or skips the next item.
    pub fn add(&mut self, item: T) {
        if self.seen.is_multiple_of(self.every) {
            self.kept.push(item);
            if self.kept.len() >= 2 * self.wanted {
                let mut at = 0;
                self.kept.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.every *= 2;
            }
        }
        self.seen += 1;
    }

    /// Number of items added.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The sample, in stream order.
    pub fn into_kept(self) -> Vec<T> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_even_and_has_the_wanted_size() {
        for (length, wanted) in [(0u64, 5usize), (7, 5), (10, 5), (1000, 5), (1023, 16), (9, 0)] {
            let mut sample = EvenSample::new(wanted);
            (0..length).for_each(|item| sample.add(item));
            assert_eq!(sample.seen(), length);
            let kept = sample.into_kept();
            assert!(kept.len() < 2 * wanted.max(1));
            assert!(kept.len() as u64 >= length.min(wanted as u64), "{length} {wanted}: {kept:?}");
            let steps: Vec<u64> = kept.windows(2).map(|two| two[1] - two[0]).collect();
            assert!(steps.windows(2).all(|two| two[0] == two[1]), "{kept:?}");
        }
    }
}
