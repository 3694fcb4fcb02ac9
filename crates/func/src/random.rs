//! Random numbers that are the same every time.

/// A small generator. The same function in the same run gets the same numbers at the same place, so
/// they need no journal. Not for secrets.
///
/// ```
/// # use travertine_func as travertine;
/// use travertine::Random;
///
/// let (mut one, mut other) = (Random::new(7), Random::new(7));
/// assert_eq!(one.next_u64(), other.next_u64());
/// assert!(one.below(6) < 6);
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The numbers of this seed.
    ///
    /// ```
    /// # use travertine_func::Random;
    /// assert_eq!(Random::new(7).next_u64(), Random::new(7).next_u64());
    /// ```
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    ///
    /// ```
    /// # use travertine_func::Random;
    /// let mut random = Random::new(7);
    /// assert_ne!(random.next_u64(), random.next_u64());
    /// ```
    pub const fn next_u64(&mut self) -> u64 {
        // SplitMix64, by Steele, Lea and Flood: it needs no care about its seed.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number below `end`, each as likely as the others.
    ///
    /// # Panics
    /// Where `end` is 0.
    ///
    /// ```
    /// # use travertine_func::Random;
    /// assert!(Random::new(7).below(6) < 6);
    /// ```
    pub fn below(&mut self, end: u64) -> u64 {
        assert!(end > 0, "no number is below 0");
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(end);
            // What does not divide evenly is drawn again.
            let low = wide & u128::from(u64::MAX);
            if low >= u128::from(end.wrapping_neg() % end) {
                return u64::try_from(wide >> 64).expect("the upper half of a product of halves");
            }
        }
    }

    /// A fraction from 0 up to, but not including, 1.
    ///
    /// ```
    /// # use travertine_func::Random;
    /// assert!((0.0..1.0).contains(&Random::new(7).fraction()));
    /// ```
    pub fn fraction(&mut self) -> f64 {
        let bits = u32::try_from(self.next_u64() >> 32).expect("32 bits are left");
        f64::from(bits) / (f64::from(u32::MAX) + 1.0)
    }

    /// One of these, where there are any.
    ///
    /// ```
    /// # use travertine_func::Random;
    /// assert_eq!(Random::new(7).pick(&["only"]), Some(&"only"));
    /// ```
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let len = u64::try_from(items.len()).ok().filter(|it| *it > 0)?;
        items.get(usize::try_from(self.below(len)).expect("below a length"))
    }
}

const fn mix(it: u64) -> u64 {
    let it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    it ^ (it >> 31)
}

/// 128 bits of these texts (FNV-1a, which is the same in every version).
pub(crate) fn digest(texts: &[&str]) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = texts.iter().flat_map(|it| it.bytes().chain([0xff]));
    bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash: u128, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(PRIME)
    })
}

/// A UUID made from these bits, in the form of version 8: made by a rule of one's own.
pub(crate) fn uuid(digest: u128) -> String {
    let [high, low] = [digest >> 64, digest & u128::from(u64::MAX)]
        .map(|it| mix(u64::try_from(it).expect("half of the bits")));
    // The halves are mixed with one another, so that each digit depends on all bits.
    let (high, low) = (mix(high ^ low.rotate_left(23)), mix(low ^ high.rotate_left(41)));
    let high = (high & 0xffff_ffff_ffff_0fff) | 0x8000;
    let low = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    let text = format!("{high:016x}{low:016x}");
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

/// Half of the bits are enough for a seed.
pub(crate) fn seed(digest: u128) -> u64 {
    let low = u64::try_from(digest & u128::from(u64::MAX)).expect("half of the bits");
    let high = u64::try_from(digest >> 64).expect("half of the bits");
    low ^ mix(high)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_numbers_below_an_end_come() {
        let mut random = Random::new(1);
        let seen: BTreeSet<_> = (0..200).map(|_| random.below(6)).collect();
        assert_eq!(seen, (0..6).collect());
        assert!((0..200).all(|_| (0.0..1.0).contains(&random.fraction())));
        assert_eq!(random.pick::<u8>(&[]), None);
    }

    #[test]
    fn uuids_differ_and_have_their_form() {
        let of = |n: u32| uuid(digest(&["order-1", "0", &format!("uuid#{n}")]));
        let all: BTreeSet<_> = (0..1000).map(of).collect();
        assert_eq!(all.len(), 1000);
        for it in all {
            assert_eq!(it.len(), 36);
            assert_eq!((&it[14..15], it.matches('-').count()), ("8", 4));
            assert!("89ab".contains(&it[19..20]), "{it}");
        }
        assert_ne!(digest(&["a", "bc"]), digest(&["ab", "c"]));
    }
}
