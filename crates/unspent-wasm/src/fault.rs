//! What is known of the end of an instance.
//!
//! It is kept where nothing has to be allocated to say it: memory may be what was missing.

#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]

use std::fmt::{self, Write};

/// Most bytes that are said.
const MOST: usize = 512;

/// A text of so many bytes; what comes after them is left out.
pub struct Fault {
    text: [u8; MOST],
    length: usize,
}

impl Fault {
    /// Nothing.
    pub const fn none() -> Fault {
        Fault { text: [0; MOST], length: 0 }
    }

    /// Says something else.
    pub fn say(&mut self, what: fmt::Arguments<'_>) {
        self.length = 0;
        // Only what has no room is lost.
        let _ = self.write_fmt(what);
    }

    /// What is said.
    pub fn text(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

impl Write for Fault {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            let end = self.length + letter.len_utf8();
            let Some(place) = self.text.get_mut(self.length..end) else {
                return Err(fmt::Error);
            };
            letter.encode_utf8(place);
            self.length = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_left_out_whole_letters_at_a_time() {
        let mut fault = Fault::none();
        fault.say(format_args!("a defect at {}", "δ".repeat(MOST)));
        let text = std::str::from_utf8(fault.text()).unwrap();
        assert!(text.starts_with("a defect at δδ") && text.len() > MOST - 2, "{text}");
        fault.say(format_args!("memory"));
        assert_eq!(fault.text(), b"memory");
    }
}
