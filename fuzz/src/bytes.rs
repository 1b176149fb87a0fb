//! Choices out of bytes, of which there are as many zeros as anybody wants.

/// Bytes that are not used yet.
pub(crate) struct Bytes<'b>(pub &'b [u8]);

impl Bytes<'_> {
    pub(crate) fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(crate) fn word(&mut self) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|_| self.next()))
    }

    /// One of `n`.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        let word = if n <= 256 { self.next().into() } else { self.word() };
        word % n
    }

    pub(crate) fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u32) as usize]
    }
}
