//! Mutations: of texts by their parts, of other bytes as they are.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    /// The same choices whenever the seed is the same.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// One of `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// So many bytes.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }

    fn one_of<'t, T: ?Sized>(&mut self, list: &[&'t T]) -> &'t T {
        list[self.below(list.len())]
    }
}

/// What stands at the ends of something, or is read by nobody.
const PIECES: [&str; 56] = [
    "",
    "0",
    "-1",
    "1e-9223372036854775808",
    "1e9223372036854775807",
    "1e10000",
    "1e-10000",
    "1e10001",
    "18446744073709551616",
    "9223372036854775808",
    "-9223372036854775808",
    "1e308",
    "5e-324",
    "0x10",
    "0b1",
    "1_000",
    "nan",
    "inf",
    "-inf",
    "1/0",
    "0/0",
    "1/3",
    "1//2",
    "½",
    "١",
    "1,5",
    "50%",
    "true",
    "null",
    "\"",
    "'''",
    "\"\"\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "é",
    "🙂",
    "\r",
    "\n",
    "\n\n[[levels]]\n",
    "[levels.shares]\n",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "=",
    ",",
    ";",
    ":",
    "#",
    "1979-05-27T07:32:00Z",
    "e",
];

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A part of the text: some bytes, a line, or what stands between two signs.
fn part(random: &mut Random, text: &str) -> (usize, usize) {
    let at = floor(text, random.below(text.len() + 1));
    match random.below(3) {
        0 => (at, floor(text, (at + random.below(12)).min(text.len()))),
        1 => {
            let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
            (start, text[at..].find('\n').map_or(text.len(), |i| at + i + 1))
        }
        _ => {
            let sign = |c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '/');
            let start = text[..at]
                .rfind(sign)
                .map_or(0, |i| floor(text, i) + text[i..].chars().next().map_or(0, char::len_utf8));
            (start, text[at..].find(sign).map_or(text.len(), |i| at + i))
        }
    }
}

/// The bytes, changed in one to four places; parts of the seeds may come in.
#[must_use]
pub fn mutated(random: &mut Random, bytes: &[u8], seeds: &[Vec<u8>], is_text: bool) -> Vec<u8> {
    let seed: &[u8] = if seeds.is_empty() { &[] } else { &seeds[random.below(seeds.len())] };
    if let (true, Ok(text), Ok(other)) = (is_text, str::from_utf8(bytes), str::from_utf8(seed)) {
        return mutated_text(random, text, other).into_bytes();
    }
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        let to = (at + random.below(9)).min(bytes.len());
        let count = 1 + random.below(16);
        let new = match random.below(7) {
            0 => vec![],
            1 => bytes[at..to].repeat(2),
            2 => {
                let from = random.below(seed.len() + 1);
                seed[from..(from + count).min(seed.len())].to_vec()
            }
            3 => vec![random.one_of(&[&0u8, &0xff, &0x7f, &0x80]).to_owned(); to - at],
            4 => random.one_of(&PIECES).repeat(1 + random.below(4)).into_bytes(),
            _ => random.bytes(to - at),
        };
        bytes.splice(at..to, new);
    }
    bytes
}

fn mutated_text(random: &mut Random, text: &str, other: &str) -> String {
    let mut text = text.to_string();
    for _ in 0..=random.below(3) {
        let (from, to) = part(random, &text);
        let new = match random.below(7) {
            0 => String::new(),
            1 => text[from..to].repeat(2),
            2 => {
                let (from, to) = part(random, other);
                other[from..to].to_string()
            }
            3 => {
                let digits = 1 + random.below(300);
                let digit = |random: &mut Random| char::from(b'0' + random.below(10) as u8);
                let mut number: String = (0..digits).map(|_| digit(random)).collect();
                if random.below(2) == 0 {
                    number.insert_str(digits / 2, random.one_of(&["/", ".", "e", "e-", "E+"]));
                }
                number
            }
            4 => random.one_of(&PIECES).repeat(1 + random.below(40)),
            _ => random.one_of(&PIECES).to_string(),
        };
        text.replace_range(from..to, &new);
    }
    text
}
