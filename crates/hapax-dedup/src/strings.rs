//! Stores many short strings in one allocation.
//!
//! A corpus has an id and an address per page. As separate strings each would cost a pointer, a length, a
//! capacity and an allocation; here each costs its bytes and 8 more.

/// Strings by position, in the order they were pushed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strings {
    text: String,
    ends: Vec<u64>,
}

impl Strings {
    pub(crate) fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len() as u64);
    }

    /// # Panics
    ///
    /// `position` is out of bounds.
    pub(crate) fn get(&self, position: usize) -> &str {
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[position] as usize]
    }

    /// Bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&self.ends[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_whole_and_empty_ones_too() {
        let given = ["", "a", "东京", "", "tea"];
        let mut strings = Strings::default();
        given.iter().for_each(|string| strings.push(string));
        let back: Vec<&str> = (0..given.len()).map(|i| strings.get(i)).collect();
        assert_eq!(back, given);
        assert_eq!(strings.bytes(), 10 + 5 * 8);
    }
}
