//! A map for names that are given out in ascending order and never used twice.
//!
//! Such names are always inserted at the end and mostly removed near the ends, so a sorted queue
//! with gaps is all it takes: no rebalancing, no hashing, the same order everywhere.

use std::{
    collections::{VecDeque, vec_deque},
    fmt,
    ops::Index,
};

/// A name that is a number.
pub trait Key: Copy + Ord + fmt::Debug {}

impl<K: Copy + Ord + fmt::Debug> Key for K {}

/// A map from ascending names to values, iterated by name.
#[derive(Clone)]
pub struct Table<K, V> {
    keys: VecDeque<K>,
    /// `None` where a value was removed and its place not yet.
    values: VecDeque<Option<V>>,
    gaps: usize,
}

impl<K: Key, V> Table<K, V> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.keys.len() - self.gaps
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn position(&self, key: K) -> Option<usize> {
        let last = self.keys.len().checked_sub(1)?;
        // Most questions are about the newest.
        if self.keys[last] == key {
            return Some(last);
        }
        self.keys.binary_search(&key).ok()
    }

    /// The value of that name.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.values[self.position(*key)?].as_ref()
    }

    /// The value of that name, to change.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let position = self.position(*key)?;
        self.values[position].as_mut()
    }

    /// Whether there is a value of that name.
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Adds a value under a name that comes after all others.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        assert!(self.keys.back().is_none_or(|last| *last < key), "names ascend: {key:?}");
        self.keys.push_back(key);
        self.values.push_back(Some(value));
    }

    /// Takes the value of that name out.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let position = self.position(*key)?;
        let value = self.values[position].take()?;
        self.gaps += 1;
        while let Some(None) = self.values.front() {
            self.values.pop_front();
            self.keys.pop_front();
            self.gaps -= 1;
        }
        while let Some(None) = self.values.back() {
            self.values.pop_back();
            self.keys.pop_back();
            self.gaps -= 1;
        }
        if self.gaps > 16 && self.gaps > self.keys.len() / 2 {
            self.close_gaps();
        }
        Some(value)
    }

    fn close_gaps(&mut self) {
        let full = |value: &Option<V>| value.is_some();
        let mut keep = self.values.iter().map(full).collect::<Vec<bool>>().into_iter();
        self.keys.retain(|_| keep.next().expect("there is a value for each key"));
        self.values.retain(full);
        self.gaps = 0;
    }

    /// Names and values, by name.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { keys: self.keys.iter(), values: self.values.iter() }
    }

    /// The names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// The values, by name.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The first name, with its value.
    pub fn first(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }
}

/// Names and values, by name.
#[derive(Clone, Debug)]
pub struct Iter<'a, K, V> {
    keys: vec_deque::Iter<'a, K>,
    values: vec_deque::Iter<'a, Option<V>>,
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (key, value) = (self.keys.next()?, self.values.next()?);
            if let Some(value) = value {
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
        Self { keys: VecDeque::new(), values: VecDeque::new(), gaps: 0 }
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
        for key in 0..100u32 {
            table.insert(key, key * 2);
        }
        for key in 1..99 {
            assert_eq!(table.remove(&key), Some(key * 2));
            assert_eq!(table.remove(&key), None);
        }
        assert_eq!(table.len(), 2);
        assert!(table.keys.len() < 40);
        assert_eq!(table.keys().copied().collect::<Vec<_>>(), [0, 99]);
        assert_eq!(table.get(&99), Some(&198));
        assert_eq!(table.remove(&99), Some(198));
        assert_eq!(table.keys.len(), 1);
    }

    #[test]
    fn two_are_equal_whatever_was_removed_before() {
        let mut left = Table::default();
        left.insert(1, 'a');
        left.insert(2, 'b');
        left.insert(3, 'c');
        left.remove(&2);
        let mut right = Table::default();
        right.insert(1, 'a');
        right.insert(3, 'c');
        assert_eq!(left, right);
    }
}
