//! Who is connected with whom: disjoint sets with path halving.
//!
//! The smaller root stays a root, so the representative of a set is its least element
//! whatever the order of the unions. Halving alone keeps paths short (amortised O(log n) an
//! operation); nothing recurses, so a chain of any length is safe.

/// Disjoint sets over `0..n`.
#[derive(Clone, Debug)]
pub struct UnionFind {
    parent: Vec<u32>,
}

impl UnionFind {
    /// Every element alone.
    pub fn new(n: u32) -> Self {
        Self { parent: (0..n).collect() }
    }

    /// The least element of the set that holds `x`.
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

    /// Makes one set of the two that hold `a` and `b`.
    pub fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}
