//! A map for names that are given out in ascending order and never used twice.
//!
//! Such names are always inserted at the end and mostly removed near the ends, so a sorted queue
//! with gaps is all it takes: no rebalancing, no hashing, the same order everywhere.

use std::{fmt, ops::Index, slice};

/// So many have room from the beginning: most instances never have more of anything.
const FIRST: usize = 2;

/// A name that is a number.
pub trait Key: Copy + Ord + fmt::Debug {
    /// The number.
    fn number(self) -> u64;
}

impl Key for u64 {
    fn number(self) -> u64 {
        self
    }
}

/// A map from ascending names to values, iterated by name.
#[derive(Clone)]
pub struct Table<K, V> {
    /// `None` where a value was removed and its place not yet.
    places: Vec<(K, Option<V>)>,
    /// The first place that is not known to be empty.
    head: usize,
    gaps: usize,
}

impl<K: Key, V> Table<K, V> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.places.len() - self.gaps
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the name is, if it is. Most questions are about the newest; for the rest, names are
    /// spread almost evenly, so that their number tells about where they are.
    fn position(&self, key: K) -> Option<usize> {
        let (most, _) = self.places.last()?;
        if key == *most {
            return Some(self.places.len() - 1);
        }
        let places = &self.places[self.head..];
        let (least, _) = places.first()?;
        if key <= *least || key > *most {
            return (key == *least).then_some(self.head);
        }
        let ahead = key.number() - least.number();
        let guess = guess(ahead, most.number() - least.number(), places.len() - 1);
        if places[guess].0 == key {
            return Some(self.head + guess);
        }
        let found = places.binary_search_by_key(&key, |(key, _)| *key);
        found.ok().map(|position| self.head + position)
    }

    /// The value of that name.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.places[self.position(*key)?].1.as_ref()
    }

    /// The value of that name, to change.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let position = self.position(*key)?;
        self.places[position].1.as_mut()
    }

    /// Whether there is a value of that name.
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Adds a value under a name that comes after all others.
    pub fn insert(&mut self, key: K, value: V) {
        assert!(self.places.last().is_none_or(|(last, _)| *last < key), "names ascend: {key:?}");
        if self.places.capacity() == 0 {
            self.places.reserve_exact(FIRST);
        }
        self.places.push((key, Some(value)));
    }

    /// Takes the value of that name out.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let position = self.position(*key)?;
        let value = self.places[position].1.take()?;
        self.gaps += 1;
        while let Some((_, None)) = self.places.get(self.head) {
            self.head += 1;
        }
        while let Some((_, None)) = self.places.last() {
            self.places.pop();
            self.gaps -= 1;
        }
        self.head = self.head.min(self.places.len());
        if self.gaps > 16 && self.gaps > self.places.len() / 2 {
            self.close_gaps();
        }
        Some(value)
    }

    fn close_gaps(&mut self) {
        self.places.retain(|(_, value)| value.is_some());
        self.head = 0;
        self.gaps = 0;
    }

    /// Names and values, by name.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { places: self.places[self.head..].iter() }
    }

    /// The names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// The values, by name.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The values, to change.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.places.iter_mut().filter_map(|(_, value)| value.as_mut())
    }

    /// The first name, with its value.
    pub fn first(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// The last name, with its value.
    pub fn last(&self) -> Option<(&K, &V)> {
        let (key, value) = self.places.last()?;
        Some((key, value.as_ref()?))
    }
}

/// About which part of `last` it is that `ahead` is of `spread`.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a guess need not be exact, and a wide division costs more than a few steps"
)]
fn guess(ahead: u64, spread: u64, last: usize) -> usize {
    ((ahead as f64 / spread as f64 * last as f64) as usize).min(last)
}

/// Names and values, by name.
#[derive(Clone, Debug)]
pub struct Iter<'a, K, V> {
    places: slice::Iter<'a, (K, Option<V>)>,
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let (key, Some(value)) = self.places.next()? {
                return Some((key, value));
            }
        }
    }
}

impl<'a, K: Key, V> IntoIterator for &'a Table<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { places: Vec::new(), head: 0, gaps: 0 }
    }
}

impl<K: Key, V: PartialEq> PartialEq for Table<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<K: Key, V: fmt::Debug> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Key, V> Index<&K> for Table<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        self.get(key).unwrap_or_else(|| panic!("no such name: {key:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn gaps_are_closed_and_never_seen() {
        let mut table = Table::default();
        for key in 0..100u64 {
            table.insert(key, key * 2);
        }
        for key in 1..99 {
            assert_eq!(table.remove(&key), Some(key * 2));
            assert_eq!(table.remove(&key), None);
        }
        assert_eq!(table.len(), 2);
        assert!(table.places.len() < 40);
        assert_eq!(table.keys().copied().collect::<Vec<_>>(), [0, 99]);
        assert_eq!(table.get(&99), Some(&198));
        assert_eq!(table.last(), Some((&99, &198)));
        assert_eq!(table.remove(&99), Some(198));
        assert_eq!(table.places.len(), 1);
        assert_eq!(table.last(), Some((&0, &0)));
    }

    #[test]
    fn every_name_is_found_however_uneven_they_are() {
        let mut table = Table::default();
        let keys: Vec<u64> = (0..60).map(|it| 1u64 << it).chain([u64::MAX - 3]).collect();
        for key in &keys {
            table.insert(*key, ());
        }
        for key in &keys {
            assert!(table.contains_key(key));
            assert!(!table.contains_key(&(key / 4 * 3 + 5)) || keys.contains(&(key / 4 * 3 + 5)));
        }
        assert!(!table.contains_key(&0));
        assert!(!table.contains_key(&u64::MAX));
    }

    #[test]
    fn two_are_equal_whatever_was_removed_before() {
        let mut left = Table::default();
        left.insert(1u64, 'a');
        left.insert(2, 'b');
        left.insert(3, 'c');
        left.remove(&2);
        let mut right = Table::default();
        right.insert(1, 'a');
        right.insert(3, 'c');
        assert_eq!(left, right);
    }
}
