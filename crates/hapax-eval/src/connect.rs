//! Disjoint sets (union-find) of the numbers below n.

/// Disjoint sets of the numbers below n; each is identified by its smallest member.
#[derive(Clone, Debug)]
pub(crate) struct Sets(Vec<u32>);

impl Sets {
    pub(crate) fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    /// The smallest member of the set that `x` is in.
    pub(crate) fn first(&self, mut x: u32) -> u32 {
        while self.0[x as usize] != x {
            x = self.0[x as usize];
        }
        x
    }

    /// Merges the sets of two numbers.
    pub(crate) fn connect(&mut self, a: u32, b: u32) {
        let (a, b) = (self.shortened(a), self.shortened(b));
        let (low, high) = (a.min(b), a.max(b));
        self.0[high as usize] = low;
    }

    fn shortened(&mut self, mut x: u32) -> u32 {
        while self.0[x as usize] != x {
            let above = self.0[x as usize];
            self.0[x as usize] = self.0[above as usize];
            x = above;
        }
        x
    }

    /// The first member of each number's set.
    pub(crate) fn partition(&self) -> Vec<u32> {
        (0..self.0.len() as u32).map(|x| self.first(x)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_identified_by_their_smallest_member() {
        let mut sets = Sets::new(6);
        sets.connect(5, 3);
        sets.connect(3, 4);
        sets.connect(1, 0);
        assert_eq!(sets.partition(), [0, 0, 2, 3, 3, 3]);
    }
}
