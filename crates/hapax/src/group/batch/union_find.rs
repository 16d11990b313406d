//! Connected components: disjoint sets with path halving.
//!
//! The smaller root stays a root, so the representative of a set is its smallest element, whatever the order of
//! unions. Halving alone keeps paths short (amortised O(log n) per operation); nothing recurses, so long chains
//! are safe.

/// Disjoint sets over `0..n`.
#[derive(Clone, Debug)]
pub struct UnionFind {
    parent: Vec<u32>,
}

impl UnionFind {
    /// `n` sets of one element.
    pub fn new(n: u32) -> Self {
        Self { parent: (0..n).collect() }
    }

    /// The smallest element of the set that contains `x`.
    pub fn find(&mut self, mut x: u32) -> u32 {
        loop {
            let parent = self.parent[x as usize];
            if parent == x {
                return x;
            }
            let grandparent = self.parent[parent as usize];
            self.parent[x as usize] = grandparent;
            x = grandparent;
        }
    }

    /// Merges the sets that contain `a` and `b`.
    pub fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}
